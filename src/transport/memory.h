// What ranks of one host can see of each other. Every rank has a segment that it alone writes and
// all others read (rings to each of them, receipts, the words and staging of its operations), and a
// bell that others ring to wake it; and a heap, for buffers of its callers, which it writes and
// others read. Nothing else is shared, so corrupt words can mislead a reader but never write into
// its memory; what is read as an offset is checked against segment or heap.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "transport/ring.h"

namespace tutti::transport {

struct Bell {
  alignas(64) std::atomic<uint32_t> rings;     // written by whoever wakes
  alignas(64) std::atomic<uint32_t> sleeping;  // threads; written by the owner
};

inline constexpr size_t kBoardBytes = size_t{64} * 1024;
inline constexpr size_t kLinkBytes = size_t{4} * 1024;

// How a segment for `num_ranks` ranks is cut. The same on all ranks.
struct SegmentLayout {
  uint32_t num_ranks;

  [[nodiscard]] size_t receipt(uint32_t peer) const { return peer * sizeof(Receipt); }
  [[nodiscard]] size_t ring(uint32_t peer) const {
    return num_ranks * sizeof(Receipt) + peer * sizeof(RingMemory);
  }
  [[nodiscard]] uint32_t num_wide_slots() const { return num_ranks * kWideSlots; }
  [[nodiscard]] size_t wide_slots() const { return ring(num_ranks); }
  // What the rank says about itself, for people: comm/diagnosis/board.h.
  [[nodiscard]] size_t board() const { return wide_slots() + num_wide_slots() * sizeof(WideSlot); }
  // What it says to ranks with which it shares a GPU: comm/cuda/device_links.h.
  [[nodiscard]] size_t links() const { return board() + kBoardBytes; }
  [[nodiscard]] size_t arena() const { return links() + kLinkBytes; }
};

class HeapMemory;

// A rank's memory as one process has mapped it.
struct RankMemory {
  std::byte* segment = nullptr;  // mapped for reading only, unless it is one's own
  size_t segment_bytes = 0;
  Bell* bell = nullptr;
  int process = 0;  // its pid, to pull from memory that is not shared; 0: our own process
  HeapMemory* heap = nullptr;
  bool can_be_pulled = true;  // whether the system lets us read memory of its process
};

// Memory of an operation, as its owner names it to others.
struct RemoteAddress {
  enum Space : uint64_t { kNowhere = 0, kSegment = 1, kPrivate = 2, kHeap = 3 };

  uint64_t space = kNowhere;
  uint64_t value = 0;  // an offset into the owner's segment or heap, or an address of its process
};

}  // namespace tutti::transport
