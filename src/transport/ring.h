// Records from one rank to one other, in order. The ring lies in the sender's memory and only the
// sender writes it; how far the receiver has come lies in the receiver's memory and only the
// receiver writes that. So no rank ever writes into another's memory, and a peer that writes
// nonsense harms what it says itself.
//
// A slot's stamp says which lap of the ring it belongs to, so it is flag and sequence number in
// one: a record costs its reader one cache line when the payload is at most 24 bytes.
#pragma once

#include <atomic>
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

struct RingMemory {
  RingSlot slots[kRingSlots];
};

// A counter alone on its cache line.
struct alignas(64) Receipt {
  std::atomic<uint64_t> taken;
};

// The sender's end. One thread at a time.
class RingWriter {
 public:
  RingWriter(RingMemory* ring, const Receipt* receipt) : ring_(ring), receipt_(receipt) {}

  // Where to write the next record; null while the ring is full. It is full only as long as the
  // receiver does not run its engine: records are taken whether anyone wants them or not.
  [[nodiscard]] Record* reserve() {
    if (position_ - taken_ == kRingSlots) {
      const uint64_t taken = receipt_->taken.load(std::memory_order_acquire);
      // A receipt beyond what was sent is nonsense; treat the ring as full.
      if (position_ - taken >= kRingSlots && !is_closed_) return nullptr;
      taken_ = is_closed_ ? position_ : taken;
    }
    return &slot().record;
  }

  // Nobody reads it any more: there is always room.
  void close() { is_closed_ = true; }

  // Pairs with the acquire in RingReader::peek.
  void publish(RecordKind kind) {
    slot().stamp.store((position_ + 1) << 8 | static_cast<uint8_t>(kind),
                       std::memory_order_release);
    ++position_;
  }

 private:
  RingSlot& slot() { return ring_->slots[position_ % kRingSlots]; }

  RingMemory* ring_;
  const Receipt* receipt_;
  uint64_t position_ = 0;
  uint64_t taken_ = 0;
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

  // The next record is probably there: fetch it. (If it is not, its sender pays for the guess.)
  void prefetch() const { __builtin_prefetch(&slot()); }

  // Pairs with the acquire in RingWriter::reserve: the slot may be written again. Whether the
  // sender can see it, and may have waited for it.
  bool pop() {
    if (++position_ % kRecordsPerReceipt != 0) return false;
    receipt_->taken.store(position_, std::memory_order_release);
    return true;
  }

 private:
  [[nodiscard]] const RingSlot& slot() const { return ring_->slots[position_ % kRingSlots]; }

  const RingMemory* ring_;
  Receipt* receipt_;
  uint64_t position_ = 0;
};

}  // namespace tutti::transport
