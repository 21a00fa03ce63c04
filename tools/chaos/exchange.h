// One rank's side of a task: its buffers, what it puts in, and what must come out, exactly.
//
// Contributions repeat along the row, so filling and checking are copies and comparisons of a
// pattern; its phase differs from task to task, so the result of another task is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tools/chaos/workload.h"
#include "tutti/communicator.h"

namespace tutti::tools::chaos {

class Exchange {
 public:
  // `place` is the rank's in the group.
  Exchange(const Task& task, uint32_t place, uint32_t num_members);

  [[nodiscard]] const Task& task() const { return task_; }
  // Inputs as they must be, outputs as they must not.
  void fill();
  // Valid until the exchange is gone; its name must be given by the caller.
  [[nodiscard]] Call call() const;
  // The memory that input and output are in.
  [[nodiscard]] std::span<const std::byte> first() const { return first_; }
  [[nodiscard]] std::span<const std::byte> second() const { return second_; }
  // How many elements of the output are not what they must be.
  [[nodiscard]] uint64_t num_wrong() const;

 private:
  struct Region {
    uint64_t begin = 0;  // place in the row
    uint64_t elems = 0;
  };

  [[nodiscard]] bool is_root() const { return place_ == task_.root; }
  [[nodiscard]] Region whole() const { return {0, task_.row()}; }
  [[nodiscard]] Region block(uint32_t member) const;
  [[nodiscard]] Region input_region() const;
  [[nodiscard]] Region output_region() const;
  [[nodiscard]] std::vector<std::byte> contribution_pattern(uint32_t member) const;
  [[nodiscard]] std::vector<std::byte> reduced_pattern() const;
  [[nodiscard]] uint64_t num_differing(const std::vector<std::byte>& pattern, uint64_t at,
                                       Region from) const;

  const Task& task_;
  uint32_t place_;
  uint32_t num_members_;
  uint64_t elem_bytes_;
  Region input_;
  Region output_;
  std::vector<std::byte> first_;
  std::vector<std::byte> second_;
  std::byte* input_at_ = nullptr;
  std::byte* output_at_ = nullptr;
};

}  // namespace tutti::tools::chaos
