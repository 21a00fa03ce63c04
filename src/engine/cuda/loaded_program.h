// A program in device memory, and the memory of its operations under way: contexts are made when
// there are more of them than ever before, and used again and again. All of it goes back with the
// program, but for what peers may still write to.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/bound_program.h"
#include "engine/cuda/context.h"
#include "engine/cuda/device.h"
#include "engine/cuda/fusion.h"
#include "engine/cuda/memory_pool.h"
#include "engine/cuda/reach.h"

namespace tutti::engine::cuda {

// What a rank's programs are made of. Any thread.
struct ProgramMemory {
  MemoryPool device;
  MemoryPool shared;
  std::atomic<uint32_t> last_number{0};  // of a program
};

// One thread at a time, but for what says otherwise.
class LoadedProgram {
 public:
  // `members`: neighbours of this rank's daemon, as the schedule counts them. At most `most_parts`
  // blocks share an operation; all ranks say the same. `exports`: where members in other processes
  // reach this rank's memory; null if there are none. Memory and exports outlive it.
  static Result<LoadedProgram> load(ProgramMemory& memory, const FusedProgram& program,
                                    std::span<const uint32_t> members, uint32_t most_parts,
                                    Exports* exports = nullptr);
  // Nothing of it is under way.
  ~LoadedProgram();
  LoadedProgram(LoadedProgram&&) = default;
  LoadedProgram& operator=(LoadedProgram&&) = delete;

  struct Slot {
    Context* context;
    uint64_t context_there;  // for other ranks
    Completion* completion;
  };
  [[nodiscard]] Result<Slot> take_slot();
  // What is not given back is never used again, nor is the program: the daemon may go on looking.
  void give_back(Slot slot);
  // Any thread. Whether a slot is out.
  [[nodiscard]] bool is_in_use() const { return uses_.any(); }
  // Any thread. Of the device, all slots included.
  [[nodiscard]] uint64_t bytes() const { return bytes_->load(std::memory_order_relaxed); }

  [[nodiscard]] const DeviceProgram* program() const { return program_; }
  [[nodiscard]] uint32_t number() const { return number_; }
  // Whether input and output may be the same memory.
  [[nodiscard]] bool may_be_in_place() const { return may_be_in_place_; }
  // Whether input travels with the word of a call, and members say no addresses.
  [[nodiscard]] bool is_inline() const { return tables_.is_inline != 0; }
  [[nodiscard]] uint32_t num_parts() const { return tables_.num_parts; }
  [[nodiscard]] size_t num_slots() const { return homes_.size(); }

 private:
  LoadedProgram(ProgramMemory& memory, Exports* exports) : memory_(&memory), exports_(exports) {}
  [[nodiscard]] Result<Slot> make_slot();

  struct Home {
    MemoryPool::Piece memory;
    MemoryPool::Piece completion;
  };

  ProgramMemory* memory_;
  Exports* exports_;
  MemoryPool::Piece image_;
  const DeviceProgram* program_ = nullptr;
  DeviceProgram tables_{};   // as it is on the device
  std::vector<Home> homes_;  // of all slots
  std::vector<Slot> free_;
  UseCount uses_;
  std::unique_ptr<std::atomic<uint64_t>> bytes_ = std::make_unique<std::atomic<uint64_t>>(0);
  uint64_t home_bytes_ = 0;
  uint32_t number_ = 0;
  bool may_be_in_place_ = false;
};

}  // namespace tutti::engine::cuda
