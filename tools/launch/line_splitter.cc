#include "tools/launch/line_splitter.h"

#include <algorithm>
#include <utility>

namespace tutti::tools::launch {

std::string LineSplitter::add(std::string_view bytes) {
  const size_t newline = bytes.rfind('\n');
  const size_t num_whole = newline == std::string_view::npos ? 0 : newline + 1;
  std::string ready;
  if (num_whole > 0) {
    ready = std::exchange(held_, {});
    ready += bytes.substr(0, num_whole);
  }
  held_ += bytes.substr(num_whole);
  if (held_.size() >= max_held_bytes_) ready += flush();
  return ready;
}

std::string LineSplitter::flush() { return std::exchange(held_, {}); }

size_t max_held_bytes(uint32_t num_ranks) {
  constexpr size_t kBudget = size_t{256} << 20;
  constexpr size_t kLeast = size_t{64} << 10;
  constexpr size_t kMost = size_t{4} << 20;
  return std::clamp(kBudget / 2 / num_ranks, kLeast, kMost);
}

}  // namespace tutti::tools::launch
