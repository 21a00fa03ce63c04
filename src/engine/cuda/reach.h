// Memory of ranks in other processes. A rank numbers the allocations that it lets others reach;
// what it tells others is a number and an offset (wire.h). Hosts of others look the number up in
// its front and map the memory, soon after it was numbered (mapper.h), or when a leader hears of
// it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "engine/cuda/daemon_state.h"
#include "engine/cuda/device.h"
#include "tutti/result.h"

namespace tutti::engine::cuda {

// What a rank tells one in another process of their memory, in memory of the host: the rank alone
// writes it, the other one reads. Both numbers only grow.
struct LinkWords {
  std::atomic<uint32_t> num_exported;  // regions of its own: so many
  std::atomic<uint32_t> num_mapped;    // of the other's, from the first on; or they never can be
};
static_assert(sizeof(LinkWords) == 8 && std::atomic<uint32_t>::is_always_lock_free);
// Both null: these two tell each other nothing.
struct RegionLink {
  LinkWords* here = nullptr;
  const LinkWords* there = nullptr;
};

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

  [[nodiscard]] uint32_t num_regions() const;
  // A neighbour in another process is told of what is exported from now on; the first `num_known`
  // it knows from the beginning. Before anybody asks what it knows.
  void link(uint32_t neighbour, const RegionLink& link, uint32_t num_known);
  // Whether that neighbour reaches the region, or never will, so that an operation that is told of
  // it waits for nobody's driver. True also where nobody can tell. Two loads.
  [[nodiscard]] bool is_known_to(uint32_t neighbour, uint32_t region) const;

 private:
  struct Linked {
    RegionLink link;
    uint32_t num_known = 0;
  };
  [[nodiscard]] Result<uint32_t> add(const Allocation& allocation);

  Device& device_;
  Front& front_;
  mutable std::mutex mutex_;
  uint32_t num_regions_ = 0;
  std::array<Linked, kMostRanks> links_;            // by neighbour
  std::unordered_map<uint64_t, uint32_t> regions_;  // by allocation; 0: cannot be shared
};

// Memory of ranks in other processes, here. One thread adds and one maps at a time.
class Imports {
 public:
  explicit Imports(Device& device) : device_(device) {}

  struct Source {
    const Front* front = nullptr;  // where it is here
    // Where its first regions are here, from number 1 on. They are known from the beginning: nobody
    // may be able to map anything when operations come.
    std::vector<const std::byte*> bases = {};
  };
  // The table of a neighbour's regions, in memory of the device, for its leader.
  [[nodiscard]] Result<const uint64_t*> add(uint32_t neighbour, const Source& source);
  // Maps what the leader asked for (daemon_state.h), or tells it that it cannot be mapped. Again is
  // as good as once.
  [[nodiscard]] Status fetch(uint32_t wanted);
  // Why something could not be mapped, the last time.
  [[nodiscard]] Status unmapped() const;

 private:
  struct Neighbour {
    Source source;
    std::byte* table = nullptr;
    std::vector<bool> is_known;
  };
  [[nodiscard]] Neighbour* find(uint32_t neighbour);

  Device& device_;
  mutable std::mutex mutex_;  // of what follows; not held while anything is mapped
  Status unmapped_;
  std::unordered_map<uint32_t, Neighbour> neighbours_;
};

}  // namespace tutti::engine::cuda
