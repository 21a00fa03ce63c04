// Which parts of an address space are taken. Lowest first, so that what was used is used again;
// neighbours that are free are one. For few and large parts: a call looks at all that are free.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

namespace tutti::transport {

class Ranges {
 public:
  explicit Ranges(size_t bytes) { free_[0] = bytes; }

  // An offset that is a multiple of `alignment`; none when there is no gap of this size.
  [[nodiscard]] std::optional<size_t> take(size_t bytes, size_t alignment);
  // What was taken, with the same size.
  void give(size_t offset, size_t bytes);

 private:
  std::map<size_t, size_t> free_;  // sizes by offset
};

}  // namespace tutti::transport
