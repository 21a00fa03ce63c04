// Records from one rank to one other, in order. The ring lies in the sender's memory and only the
// sender writes it; how far the receiver has come lies in the receiver's memory and only the
// receiver writes that. So no rank ever writes into another's memory, and a peer that writes
// nonsense harms what it says itself.
//
// A slot's stamp says which lap of the ring it belongs to, so it is flag and sequence number in
// one: a record costs its reader one cache line when the payload is at most 24 bytes. A packet that
// does not fit into a record lies in a wide slot of the sender, and the record says in which.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "transport/record.h"
#include "transport/wide_slots.h"

namespace tutti::transport {

inline constexpr uint32_t kRingSlots = 64;
// The receiver tells how far it is once in so many records: its line then moves that much less.
inline constexpr uint32_t kRecordsPerReceipt = kRingSlots / 4;

struct alignas(64) RingSlot {
  std::atomic<uint64_t> stamp;  // (position + 1) << 8 | RecordKind; 0: never written
  Record record;
};
static_assert(sizeof(RingSlot) == kRecordBytes);

struct RingMemory {
  RingSlot slots[kRingSlots];
};
static_assert(sizeof(RingMemory) == size_t{32} * 1024);

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
  RingWriter(RingMemory* ring, const Receipt* receipt, WideSlots* wide)
      : ring_(ring), receipt_(receipt), wide_(wide) {}

  // Where to write the next record; null while the ring is full. It is full only as long as the
  // receiver does not run its engine: records are taken whether anyone wants them or not.
  [[nodiscard]] Record* reserve() {
    if (position_ - taken_ == kRingSlots && !look()) return nullptr;
    return &slot().record;
  }
  // Whether the ring can carry one more wide slot, and a record for it.
  [[nodiscard]] bool has_wide_room() {
    if (num_carried() == kWideSlots) look();
    return num_carried() < kWideSlots && reserve() != nullptr;
  }

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
  }
  // A record whose header was written, and whose payload is in the slot.
  void publish_wide(uint32_t wide_slot) {
    std::memcpy(slot().record.payload.data(), &wide_slot, sizeof wide_slot);
    publish(RecordKind::kWide);
    wide_->hold(wide_slot);
    carried_[num_wide_++ % kWideSlots] = {wide_slot, position_};
  }

 private:
  struct Carried {
    uint32_t slot;
    uint64_t end;  // the position behind its record
  };

  RingSlot& slot() { return ring_->slots[position_ % kRingSlots]; }
  [[nodiscard]] uint64_t num_carried() const { return num_wide_ - num_dropped_; }

  // How far the receiver is. Whether there is room for a record.
  bool look() {
    if (is_closed_) {
      taken_ = position_;
      is_far_ahead_ = false;
      drop_taken();
      return true;
    }
    const uint64_t taken = receipt_->taken.load(std::memory_order_acquire);
    const uint64_t kept = receipt_->kept.load(std::memory_order_relaxed);
    is_far_ahead_ = kept > kFarAhead && kept / kMostWeight <= position_;  // no more than was sent
    // A receipt beyond what was sent, or one that takes back what an earlier one said, is nonsense.
    if (position_ - taken > position_ - taken_) return position_ - taken_ < kRingSlots;
    taken_ = taken;
    drop_taken();
    return position_ - taken_ < kRingSlots;
  }

  void drop_taken() {
    for (; num_carried() > 0 && carried_[num_dropped_ % kWideSlots].end <= taken_; ++num_dropped_) {
      wide_->drop(carried_[num_dropped_ % kWideSlots].slot);
    }
  }

  RingMemory* ring_;
  const Receipt* receipt_;
  WideSlots* wide_;
  uint64_t position_ = 0;
  uint64_t taken_ = 0;
  uint64_t num_wide_ = 0;     // of the records
  uint64_t num_dropped_ = 0;  // of those
  std::array<Carried, kWideSlots> carried_{};
  bool is_far_ahead_ = false;
  bool is_closed_ = false;
};

// The receiver's end. One thread at a time.
class RingReader {
 public:
  // `wide` are the sender's slots.
  RingReader(const RingMemory* ring, Receipt* receipt, std::span<const WideSlot> wide)
      : ring_(ring), receipt_(receipt), wide_(wide) {}

  // The kind of the next record, or of one `behind` it, if it is there.
  [[nodiscard]] std::optional<RecordKind> peek(uint32_t behind = 0) const {
    const uint64_t stamp = slot(behind).stamp.load(std::memory_order_acquire);
    if (stamp >> 8 != position_ + behind + 1) return std::nullopt;
    return static_cast<RecordKind>(stamp & 0xff);
  }
  // The record that peek saw. The sender may be hostile: copy what is checked before checking it.
  [[nodiscard]] const Record& record(uint32_t behind = 0) const { return slot(behind).record; }
  // How many were popped.
  [[nodiscard]] uint64_t position() const { return position_; }
  [[nodiscard]] uint64_t num_wide() const { return num_wide_; }
  // Its data. As much as its kind can carry can be read there in any case.
  [[nodiscard]] const std::byte* payload(RecordKind kind) const {
    if (kind != RecordKind::kWide) return record().payload.data();
    uint32_t wide_slot;
    std::memcpy(&wide_slot, record().payload.data(), sizeof wide_slot);
    return wide_[wide_slot % wide_.size()].data;
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
  [[nodiscard]] const RingSlot& slot(uint32_t behind = 0) const {
    return ring_->slots[(position_ + behind) % kRingSlots];
  }

  const RingMemory* ring_;
  Receipt* receipt_;
  std::span<const WideSlot> wide_;
  uint64_t position_ = 0;
  uint64_t num_wide_ = 0;
};

}  // namespace tutti::transport
