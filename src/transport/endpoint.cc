#include "transport/endpoint.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "transport/heap_memory.h"

namespace tutti::transport {
namespace {

template <class T>
T* at(const RankMemory& memory, size_t offset) {
  return reinterpret_cast<T*>(memory.segment + offset);
}

// Of what is left of the segment a sixteenth is for words.
size_t words_bytes(const RankMemory& memory, SegmentLayout layout) {
  return (memory.segment_bytes - layout.arena()) / 16 / 64 * 64;
}

Arena own_words(const RankMemory& memory, SegmentLayout layout) {
  return {memory.segment + layout.arena(), words_bytes(memory, layout)};
}

Error not_its_own(Rank peer, RemoteAddress address, uint64_t bytes, size_t all_bytes) {
  return {ErrorCode::kMalformed,
          fmt::format("rank {} names {} bytes at offset {} of its {} of {} bytes", peer.value,
                      bytes, address.value,
                      address.space == RemoteAddress::kHeap ? "heap" : "segment", all_bytes)};
}

Arena own_arena(const RankMemory& memory, SegmentLayout layout) {
  const size_t begin = layout.arena() + words_bytes(memory, layout);
  return {memory.segment + begin, memory.segment_bytes - begin};
}

}  // namespace

Endpoint::Endpoint(Rank self, std::vector<RankMemory> ranks)
    : self_(self),
      ranks_(std::move(ranks)),
      words_(own_words(ranks_[self.value], {static_cast<uint32_t>(ranks_.size())})),
      arena_(own_arena(ranks_[self.value], {static_cast<uint32_t>(ranks_.size())})) {
  const SegmentLayout layout{num_ranks()};
  const RankMemory& own = ranks_[self.value];
  wide_slots_ = std::make_unique<WideSlots>(
      std::span(at<WideSlot>(own, layout.wide_slots()), layout.num_wide_slots()));
  for (uint32_t peer = 0; peer < num_ranks(); ++peer) {
    const RankMemory& other = ranks_[peer];
    is_one_process_ &= other.process == 0;
    can_pull_ &= other.can_be_pulled;
    writers_.emplace_back(at<RingMemory>(own, layout.ring(peer)),
                          at<const Receipt>(other, layout.receipt(self.value)), wide_slots_.get());
    readers_.emplace_back(
        at<const RingMemory>(other, layout.ring(self.value)),
        at<Receipt>(own, layout.receipt(peer)),
        std::span(at<const WideSlot>(other, layout.wide_slots()), layout.num_wide_slots()));
  }
}

bool Endpoint::is_shared(const void* memory, size_t bytes) const {
  return is_one_process_ || heap().contains(memory, bytes);
}

RemoteAddress Endpoint::name(const void* memory, size_t bytes) const {
  if (memory == nullptr) return {};
  if (heap().contains(memory, bytes)) return {RemoteAddress::kHeap, heap().offset_of(memory)};
  if (arena_.contains(memory, 0) || words_.contains(memory, 0)) {
    const auto offset = static_cast<const std::byte*>(memory) - ranks_[self_.value].segment;
    return {RemoteAddress::kSegment, static_cast<uint64_t>(offset)};
  }
  return {RemoteAddress::kPrivate, reinterpret_cast<uint64_t>(memory)};
}

Result<const std::byte*> Endpoint::reach(Rank peer, RemoteAddress address, uint64_t bytes) const {
  const RankMemory& memory = ranks_[peer.value];
  if (address.space == RemoteAddress::kSegment) {
    if (bytes > memory.segment_bytes || address.value > memory.segment_bytes - bytes) {
      return not_its_own(peer, address, bytes, memory.segment_bytes);
    }
    return memory.segment + address.value;
  }
  if (address.space == RemoteAddress::kHeap) {
    if (!memory.heap->has(address.value, bytes)) {
      return not_its_own(peer, address, bytes, memory.heap->bytes());
    }
    const auto mapped = memory.heap->map();
    // Without address space it is read through its descriptor.
    return mapped ? *mapped + address.value : nullptr;
  }
  if (memory.process != 0) return nullptr;
  return reinterpret_cast<const std::byte*>(address.value);
}

Status Endpoint::pull(Rank peer, std::byte* to, RemoteAddress address, uint64_t bytes) const {
  const RankMemory& memory = ranks_[peer.value];
  const auto read = [&](std::byte* into, uint64_t from, uint64_t left) {
    if (address.space == RemoteAddress::kHeap) return memory.heap->read(into, from, left);
    iovec local{into, left};
    iovec remote{reinterpret_cast<void*>(from), left};
    return process_vm_readv(memory.process, &local, 1, &remote, 1, 0);
  };
  uint64_t done = 0;
  while (done < bytes) {
    const ssize_t moved = read(to + done, address.value + done, bytes - done);
    if (moved > 0) {
      done += static_cast<uint64_t>(moved);
    } else {
      const bool gone = moved < 0 && errno == ESRCH;
      return Error{gone ? ErrorCode::kPeerLost : ErrorCode::kIo,
                   fmt::format("cannot read {} bytes of rank {}'s memory: {}", bytes - done,
                               peer.value, moved == 0 ? "nothing there" : std::strerror(errno))};
    }
  }
  return {};
}

void Endpoint::ring_bell(Rank peer) const {
  Bell* const bell = ranks_[peer.value].bell;
  bell->rings.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &bell->rings, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);  // Liveness: no wait.
}

uint32_t Endpoint::prepare_sleep() const {
  Bell* const bell = ranks_[self_.value].bell;
  const uint32_t ticket = bell->rings.load(std::memory_order_acquire);
  bell->sleeping.fetch_add(1, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return ticket;
}

void Endpoint::cancel_sleep() const {
  ranks_[self_.value].bell->sleeping.fetch_sub(1, std::memory_order_relaxed);
}

void Endpoint::sleep(uint32_t ticket, uint64_t max_ns) const {
  Bell* const bell = ranks_[self_.value].bell;
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(max_ns / 1'000'000'000);
  limit.tv_nsec = static_cast<long>(max_ns % 1'000'000'000);
  // Liveness: a peer that publishes sees `sleeping` and rings. It looks without a fence, so its
  // look may run ahead of its own store and miss us once; the limit ends the sleep then.
  syscall(SYS_futex, &bell->rings, FUTEX_WAIT, ticket, &limit, nullptr, 0);
  cancel_sleep();
}

}  // namespace tutti::transport
