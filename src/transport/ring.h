// Records from one rank to one other, in order. The ring lies in the sender's memory and only the
// sender writes it; how far the receiver has come lies in the receiver's memory and only the
// receiver writes that. So no rank ever writes into another's memory, and a peer that writes
// nonsense harms what it says itself.
//
// A slot's stamp says which lap of the ring it belongs to, so it is flag and sequence number in
// one: a record costs its reader one cache line when the payload is at most 24 bytes. A packet that
// does not fit into a record lies beside the ring, in the next of a few wide slots, which both ends
// count.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "transport/record.h"

namespace tutti::transport {

inline constexpr uint32_t kRingSlots = 64;
// The receiver tells how far it is once in so many records: its line then moves that much less.
inline constexpr uint32_t kRecordsPerReceipt = kRingSlots / 4;

struct alignas(64) RingSlot {
  std::atomic<uint64_t> stamp;  // (position + 1) << 8 | RecordKind; 0: never written
  Record record;
};
static_assert(sizeof(RingSlot) == kRecordBytes);

inline constexpr uint32_t kWideSlots = 8;

struct RingMemory {
  RingSlot slots[kRingSlots];
  alignas(64) std::byte wide[kWideSlots][kWideBytes];
};
static_assert(sizeof(RingMemory) == size_t{96} * 1024);

// What the receiver says to the sender, alone on its cache line.
struct alignas(64) Receipt {
  std::atomic<uint64_t> taken;  // records out of the ring
  std::atomic<uint64_t> kept;   // of those, for operations that the receiver has not issued
};

// What a kept record with the largest payload counts as.
inline constexpr uint64_t kMostWeight = 1 + kWideBytes / kRecordBytes;
// A sender is so many records ahead of a receiver that its calls end no more before the receiver
// has caught up: 8 MiB.
inline constexpr uint64_t kFarAhead = uint64_t{1} << 14;

// The sender's end. One thread at a time.
class RingWriter {
 public:
  RingWriter(RingMemory* ring, const Receipt* receipt) : ring_(ring), receipt_(receipt) {}

  // Where to write the next record; null while the ring is full. It is full only as long as the
  // receiver does not run its engine: records are taken whether anyone wants them or not.
  [[nodiscard]] Record* reserve() {
    if (position_ - taken_ == kRingSlots && !look()) return nullptr;
    return &slot().record;
  }
  // The same, and the wide slot that goes with it: for packets.
  [[nodiscard]] bool has_wide_room() {
    const uint64_t last_use = wide_uses_[num_wide_ % kWideSlots];
    return (last_use <= taken_ || (look() && last_use <= taken_)) && reserve() != nullptr;
  }
  [[nodiscard]] std::byte* wide() { return ring_->wide[num_wide_ % kWideSlots]; }

  // The receiver holds much for operations that it has not issued yet. Looks as often as the ring
  // is full, and always once it is so.
  [[nodiscard]] bool is_far_ahead() {
    if (is_far_ahead_) look();
    return is_far_ahead_;
  }

  // Nobody reads it any more: there is always room.
  void close() { is_closed_ = true; }

  // Pairs with the acquire in RingReader::peek.
  void publish(RecordKind kind) {
    slot().stamp.store((position_ + 1) << 8 | static_cast<uint8_t>(kind),
                       std::memory_order_release);
    ++position_;
    if (kind == RecordKind::kWide) wide_uses_[num_wide_++ % kWideSlots] = position_;
  }

 private:
  RingSlot& slot() { return ring_->slots[position_ % kRingSlots]; }

  // How far the receiver is. Whether there is room for a record.
  bool look() {
    if (is_closed_) {
      taken_ = position_;
      is_far_ahead_ = false;
      return true;
    }
    const uint64_t taken = receipt_->taken.load(std::memory_order_acquire);
    const uint64_t kept = receipt_->kept.load(std::memory_order_relaxed);
    is_far_ahead_ = kept > kFarAhead && kept / kMostWeight <= position_;  // no more than was sent
    // A receipt beyond what was sent, or one that takes back what an earlier one said, is nonsense.
    if (position_ - taken > position_ - taken_) return position_ - taken_ < kRingSlots;
    taken_ = taken;
    return position_ - taken_ < kRingSlots;
  }

  RingMemory* ring_;
  const Receipt* receipt_;
  uint64_t position_ = 0;
  uint64_t taken_ = 0;
  uint64_t num_wide_ = 0;
  std::array<uint64_t, kWideSlots> wide_uses_{};  // the position behind the record that used it
  bool is_far_ahead_ = false;
  bool is_closed_ = false;
};

// The receiver's end. One thread at a time.
class RingReader {
 public:
  RingReader(const RingMemory* ring, Receipt* receipt) : ring_(ring), receipt_(receipt) {}

  // The kind of the next record, if it is there.
  [[nodiscard]] std::optional<RecordKind> peek() const {
    const uint64_t stamp = slot().stamp.load(std::memory_order_acquire);
    if (stamp >> 8 != position_ + 1) return std::nullopt;
    return static_cast<RecordKind>(stamp & 0xff);
  }
  // The record that peek saw. The sender may be hostile: copy what is checked before checking it.
  [[nodiscard]] const Record& record() const { return slot().record; }
  // Its data. kWideBytes can be read there in any case.
  [[nodiscard]] const std::byte* payload(RecordKind kind) const {
    return kind == RecordKind::kWide ? ring_->wide[num_wide_ % kWideSlots]
                                     : record().payload.data();
  }

  // The next record is probably there: fetch it. (If it is not, its sender pays for the guess.)
  void prefetch() const { __builtin_prefetch(&slot()); }

  // Pairs with the acquire in RingWriter::reserve: the slot may be written again. Whether the
  // sender can see it, and may have waited for it.
  bool pop(RecordKind kind) {
    const bool is_wide = kind == RecordKind::kWide;  // there are few of them
    if (is_wide) ++num_wide_;
    if (++position_ % kRecordsPerReceipt != 0 && !is_wide) return false;
    receipt_->taken.store(position_, std::memory_order_release);
    return true;
  }

  // Of what was popped, so many records are held for operations that were not issued yet.
  void say_kept(uint64_t records) { receipt_->kept.store(records, std::memory_order_relaxed); }

 private:
  [[nodiscard]] const RingSlot& slot() const { return ring_->slots[position_ % kRingSlots]; }

  const RingMemory* ring_;
  Receipt* receipt_;
  uint64_t position_ = 0;
  uint64_t num_wide_ = 0;
};

}  // namespace tutti::transport
