// Cuts what a rank writes into what may be passed on: whole lines at once, the beginning of a line
// only when asked for or when it is too long to hold. Loses and changes no byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::tools::launch {

class LineSplitter {
 public:
  explicit LineSplitter(size_t max_held_bytes) : max_held_bytes_(max_held_bytes) {}

  // Takes bytes in; returns those that may go out now: everything up to the last newline, or all
  // that is held once the unfinished line reaches the maximum.
  [[nodiscard]] std::string add(std::string_view bytes);
  // The unfinished line as it is.
  [[nodiscard]] std::string flush();
  [[nodiscard]] size_t num_held() const { return held_.size(); }

 private:
  size_t max_held_bytes_;
  std::string held_;
};

// Long lines stay whole, and still thousands of ranks do not fill the memory: 2 * num_ranks
// streams share a budget.
[[nodiscard]] size_t max_held_bytes(uint32_t num_ranks);

}  // namespace tutti::tools::launch
