// A program in device memory, and the memory of its operations under way: contexts are made when
// there are more of them than ever before, and used again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/cuda/context.h"
#include "engine/cuda/device.h"
#include "engine/cuda/fusion.h"
#include "engine/cuda/reach.h"

namespace tutti::engine::cuda {

class LoadedProgram {
 public:
  // `members`: neighbours of this rank's daemon, as the schedule counts them. At most `most_parts`
  // blocks share an operation; all ranks say the same. `exports`: where members in other processes
  // reach this rank's memory; null if there are none. Device and exports outlive it.
  static Result<LoadedProgram> load(Device& device, const FusedProgram& program,
                                    std::span<const uint32_t> members, uint32_t most_parts,
                                    Exports* exports = nullptr);

  struct Slot {
    Context* context;
    uint64_t context_there;  // for other ranks
    Completion* completion;
  };
  [[nodiscard]] Result<Slot> take_slot();
  void give_back(Slot slot) { free_.push_back(slot); }

  [[nodiscard]] const DeviceProgram* program() const { return program_; }
  // Whether input and output may be the same memory.
  [[nodiscard]] bool may_be_in_place() const { return may_be_in_place_; }
  [[nodiscard]] uint32_t num_parts() const { return tables_.num_parts; }
  [[nodiscard]] size_t num_slots() const { return num_slots_; }

 private:
  LoadedProgram(Device& device, Exports* exports) : device_(&device), exports_(exports) {}
  [[nodiscard]] Result<Slot> make_slot();

  Device* device_;
  Exports* exports_;
  const DeviceProgram* program_ = nullptr;
  DeviceProgram tables_{};  // as it is on the device
  std::vector<Slot> free_;
  uint64_t home_bytes_ = 0;
  size_t num_slots_ = 0;
  bool may_be_in_place_ = false;
};

}  // namespace tutti::engine::cuda
