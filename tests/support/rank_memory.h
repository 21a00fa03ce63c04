// The buffers of one rank in the interpreter: input, output and scratch as rows of int64, cut into
// chunks by the caller's sizes. In place, input and output are parts of one row.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/layout.h"
#include "ir/sizes.h"
#include "tests/support/interpreter.h"
#include "tests/support/sanitized.h"

namespace tutti::test {

// A value no run produces by accident, in every element that nothing has written yet.
inline constexpr int64_t kUnwritten = INT64_MIN;

// Elements before and behind each row that nobody may write. None where the sanitizer watches,
// which sees reads too.
inline constexpr uint64_t kGuardElems = kSanitized ? 0 : 64;
inline constexpr int64_t kGuard = 0x5A5A'6B6B'7C7C'0D0D;

// What rank `rank` contributes to element `elem` of block `block`.
[[nodiscard]] int64_t contribution(uint32_t rank, uint64_t block, uint64_t elem);

// What element `elem` of an output's block `block` must be.
[[nodiscard]] int64_t expected(const Collective& collective, uint64_t block, uint64_t elem);

class RankMemory {
 public:
  RankMemory(const ir::Schedule& schedule, const ir::Layout& layout, const ir::Sizes& sizes,
             Rank rank, Aliasing aliasing);

  // The elements of one chunk position. A chunk of `elems` may lie in a larger scratch position.
  [[nodiscard]] int64_t* at(ir::Buffer buffer, uint32_t index) {
    return rows_[row_of(buffer)].data() + kGuardElems + begin_[static_cast<size_t>(buffer)][index];
  }
  [[nodiscard]] uint64_t capacity(ir::Buffer buffer, uint32_t index) const {
    const auto& begin = begin_[static_cast<size_t>(buffer)];
    return begin[index + 1] - begin[index];
  }
  // Whether the guards are as they were.
  [[nodiscard]] bool is_whole() const;

 private:
  [[nodiscard]] size_t row_of(ir::Buffer buffer) const { return row_[static_cast<size_t>(buffer)]; }
  void lay_out(ir::Buffer buffer, uint32_t num_positions, const std::vector<uint64_t>& elems);
  void alias(const Collective& collective, const ir::Layout& layout, Rank rank);

  std::vector<int64_t> rows_[ir::kNumBuffers];
  size_t row_[ir::kNumBuffers] = {0, 1, 2};
  std::vector<uint64_t> begin_[ir::kNumBuffers];  // of each position, and the end
};

}  // namespace tutti::test
