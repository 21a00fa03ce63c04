// Memory of ranks in other processes. A rank numbers the allocations that it lets others reach;
// what it tells others is a number and an offset (wire.h). Whoever hears a number for the first
// time has its host look it up in the sender's front and map it.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "engine/cuda/daemon_state.h"
#include "engine/cuda/device.h"
#include "tutti/result.h"

namespace tutti::engine::cuda {

// This rank's memory, for others. Any thread.
class Exports {
 public:
  // Both outlive it.
  Exports(Device& device, Front& front) : device_(device), front_(front) {}

  // How others name this address. kUnsupported: they cannot reach it, and it must be copied to
  // where they can. Memory that was freed and taken again is other memory.
  [[nodiscard]] Result<uint64_t> address_of(const void* at);
  // The same for who knows what it lies in: to ask the driver takes time.
  [[nodiscard]] Result<uint64_t> address_of(const void* at, const Allocation& allocation);

 private:
  [[nodiscard]] Result<uint32_t> add(const Allocation& allocation);

  Device& device_;
  Front& front_;
  std::mutex mutex_;
  uint32_t num_regions_ = 0;
  std::unordered_map<uint64_t, uint32_t> regions_;  // by allocation; 0: cannot be shared
};

// Others' memory, here. One thread at a time.
class Imports {
 public:
  explicit Imports(Device& device) : device_(device) {}

  struct Source {
    const Front* front = nullptr;  // where it is here
    bool is_near = false;          // of this process: its addresses are ours
    // The region that the front is in, and where that is here. It is known from the beginning, and
    // so is all memory of small operations: nobody may be able to map anything when they come.
    uint32_t region = 0;
    const std::byte* base = nullptr;
  };
  // The table of a neighbour's regions, in memory of the device, for its leader.
  [[nodiscard]] Result<const uint64_t*> add(uint32_t neighbour, const Source& source);
  // Maps what the leader asked for (daemon_state.h), or tells it that it cannot be mapped. Again is
  // as good as once.
  [[nodiscard]] Status fetch(uint32_t wanted);
  // Why something could not be mapped, the last time.
  [[nodiscard]] const Status& unmapped() const { return unmapped_; }

 private:
  struct Neighbour {
    Source source;
    std::byte* table = nullptr;
    std::vector<bool> is_known;
  };
  Device& device_;
  Status unmapped_;
  std::unordered_map<uint32_t, Neighbour> neighbours_;
};

}  // namespace tutti::engine::cuda
