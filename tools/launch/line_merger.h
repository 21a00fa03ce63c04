// Puts the pieces of many sources into one stream so that their lines never mix, each line after
// its source's prefix.
//
// A piece may end in the middle of a line. If the same source goes on, its next piece continues
// that line; if another one comes first, a newline ends it and the rest begins a line of its own.
// That newline is the only byte ever added besides prefixes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::tools::launch {

class LineMerger {
 public:
  // A source is an index into the prefixes.
  explicit LineMerger(std::vector<std::string> prefixes) : prefixes_(std::move(prefixes)) {}

  void add(size_t source, std::string_view piece, std::string& out);

 private:
  static constexpr size_t kNobody = SIZE_MAX;

  std::vector<std::string> prefixes_;
  size_t open_line_of_ = kNobody;
};

enum class Prefix { kNone, kPlain, kColoured };

// "[ 3] " for each rank, as wide as the widest; and one for the launcher's own lines, which is
// empty.
[[nodiscard]] std::vector<std::string> rank_prefixes(uint32_t num_ranks, Prefix prefix);

}  // namespace tutti::tools::launch
