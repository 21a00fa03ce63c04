// One rank's end of the host's transport: rings to and from every other rank, reading of their
// memory, and waking. Loopback (threads) and shm (processes) differ in how the memory was set up,
// and in nothing else. One thread at a time, but for wake and sleep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "transport/arena.h"
#include "transport/memory.h"
#include "transport/ring.h"
#include "tutti/result.h"

namespace tutti::transport {

class Endpoint {
 public:
  // `ranks` as this process maps them, one a rank.
  Endpoint(Rank self, std::vector<RankMemory> ranks);

  [[nodiscard]] Rank self() const { return self_; }
  [[nodiscard]] uint32_t num_ranks() const { return static_cast<uint32_t>(ranks_.size()); }

  // Whether all ranks are threads of this process, which can read each other's memory as it is.
  [[nodiscard]] bool is_one_process() const { return is_one_process_; }

  // Whether memory that is not shared can be pulled: containers may forbid it. Taken to be so of
  // this rank's memory too when this rank can pull that of all others.
  [[nodiscard]] bool can_pull() const { return can_pull_; }

  [[nodiscard]] RingWriter& to(Rank peer) { return writers_[peer.value]; }
  [[nodiscard]] RingReader& from(Rank peer) { return readers_[peer.value]; }
  [[nodiscard]] WideSlots& wide_slots() { return *wide_slots_; }
  [[nodiscard]] Arena& arena() { return arena_; }
  // For memory that peers may look at after it was freed: it is never used for anything else, so
  // what they see there is always words.
  [[nodiscard]] Arena& words() { return words_; }
  // kBoardBytes of the rank's segment; only one's own is written.
  [[nodiscard]] std::byte* board(Rank rank) const {
    return ranks_[rank.value].segment + SegmentLayout{num_ranks()}.board();
  }
  // kLinkBytes, likewise.
  [[nodiscard]] std::byte* links(Rank rank) const {
    return ranks_[rank.value].segment + SegmentLayout{num_ranks()}.links();
  }

  // Where this rank's callers get memory that its peers can read.
  [[nodiscard]] HeapMemory& heap() const { return *ranks_[self_.value].heap; }

  // Whether peers can read this memory where it lies.
  [[nodiscard]] bool is_shared(const void* memory, size_t bytes) const;
  // How others find memory of this rank. What lies in arena, words or heap is shared; all other
  // memory can be named too, and is then pulled by whoever may.
  [[nodiscard]] RemoteAddress name(const void* memory, size_t bytes = 0) const;
  // The memory that a peer named, readable at once; null when it must be pulled. kMalformed when
  // it does not lie in the peer's segment or heap.
  [[nodiscard]] Result<const std::byte*> reach(Rank peer, RemoteAddress address,
                                               uint64_t bytes) const;
  // Copies memory that a peer named. kPeerLost when the peer's process is gone, kIo when the system
  // refuses.
  [[nodiscard]] Status pull(Rank peer, std::byte* to, RemoteAddress address, uint64_t bytes) const;

  // Wakes a peer that sleeps. Call it after what it should see was published.
  void wake(Rank peer) const {
    if (ranks_[peer.value].bell->sleeping.load(std::memory_order_relaxed) != 0) ring_bell(peer);
  }

  // Going to sleep takes two calls, so that nothing is missed in between: what is published after
  // prepare_sleep wakes; look once more for work, then sleep or cancel.
  [[nodiscard]] uint32_t prepare_sleep() const;
  void cancel_sleep() const;
  // Returns when a bell rang or after `max_ns`.
  void sleep(uint32_t ticket, uint64_t max_ns) const;
  // Threads of this rank that do so now.
  [[nodiscard]] uint32_t num_sleeping() const {
    return ranks_[self_.value].bell->sleeping.load(std::memory_order_relaxed);
  }

 private:
  void ring_bell(Rank peer) const;

  Rank self_;
  std::vector<RankMemory> ranks_;
  std::unique_ptr<WideSlots> wide_slots_;  // which the writers point to
  std::vector<RingWriter> writers_;
  std::vector<RingReader> readers_;
  Arena words_;
  Arena arena_;
  bool is_one_process_ = true;
  bool can_pull_ = true;
};

}  // namespace tutti::transport
