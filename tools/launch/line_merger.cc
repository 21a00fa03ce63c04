#include "tools/launch/line_merger.h"

#include <fmt/format.h>

namespace tutti::tools::launch {

void LineMerger::add(size_t source, std::string_view piece, std::string& out) {
  if (piece.empty()) return;
  bool continues = open_line_of_ == source;
  if (open_line_of_ != kNobody && !continues) out += '\n';
  open_line_of_ = piece.back() == '\n' ? kNobody : source;
  const std::string& prefix = prefixes_[source];
  if (prefix.empty()) {
    out += piece;
    return;
  }
  while (!piece.empty()) {
    if (!continues) out += prefix;
    continues = false;
    const size_t newline = piece.find('\n');
    const size_t length = newline == std::string_view::npos ? piece.size() : newline + 1;
    out += piece.substr(0, length);
    piece.remove_prefix(length);
  }
}

std::vector<std::string> rank_prefixes(uint32_t num_ranks, Prefix prefix) {
  // Neighbours differ; red is left for errors.
  constexpr int kColours[] = {36, 33, 32, 35, 34, 96, 93, 92, 95, 94};
  const size_t width = fmt::formatted_size("{}", num_ranks - 1);
  std::vector<std::string> prefixes(num_ranks + size_t{1});
  for (uint32_t rank = 0; rank < num_ranks && prefix != Prefix::kNone; ++rank) {
    prefixes[rank] = fmt::format("[{:>{}}] ", rank, width);
    if (prefix == Prefix::kColoured) {
      prefixes[rank] =
          fmt::format("\033[{}m{}\033[0m", kColours[rank % std::size(kColours)], prefixes[rank]);
    }
  }
  return prefixes;
}

}  // namespace tutti::tools::launch
