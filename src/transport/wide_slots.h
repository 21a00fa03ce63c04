// Where a rank puts packets that do not fit into a record. All its rings share the slots, so what
// goes to several peers is written once; a slot is free again when every ring that carries it says
// that it was taken.
//
// Nobody finds none free because somebody else is slow: a ring carries at most kWideSlots at a
// time, one slot is kept for the next of the same message, and there are kWideSlots for every rank,
// this one too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "transport/record.h"

namespace tutti::transport {

inline constexpr uint32_t kWideSlots = 32;

struct alignas(64) WideSlot {
  std::byte data[kWideBytes];
};

// The sender's end. One thread at a time.
class WideSlots {
 public:
  // Which message a slot has.
  struct Message {
    uint64_t operation = 0;
    uint32_t part = kOnce;  // of the operation's memory, which does not change meanwhile

    static constexpr uint32_t kOnce = UINT32_MAX;  // there is no other message like it
  };

  explicit WideSlots(std::span<WideSlot> slots)
      : slots_(slots), holders_(slots.size()), free_(slots.size()), num_free_(slots.size()) {
    std::iota(free_.begin(), free_.end(), 0u);
  }

  // A slot with the data, for a ring that has room: the last one, if this message is in it.
  [[nodiscard]] uint32_t put(Message message, const std::byte* data, size_t bytes) {
    const bool is_there = message.part != Message::kOnce && last_.part == message.part &&
                          last_.operation == message.operation;
    if (is_there) return last_slot_;
    forget();
    last_ = message;
    last_slot_ = take();
    hold(last_slot_);
    std::memcpy(slots_[last_slot_].data, data, bytes);
    return last_slot_;
  }
  // What is put from now on is another message.
  void forget() {
    if (last_slot_ != kNone) drop(last_slot_);
    last_ = {};
    last_slot_ = kNone;
  }

  void hold(uint32_t slot) { ++holders_[slot]; }
  void drop(uint32_t slot) {
    if (--holders_[slot] > 0) return;
    free_[num_free_++] = slot;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // The one that was used last: no more memory is touched than is needed at a time.
  uint32_t take() { return free_[--num_free_]; }

  std::span<WideSlot> slots_;
  std::vector<uint32_t> holders_;  // of each slot: rings that carry it, and `last_`
  std::vector<uint32_t> free_;
  size_t num_free_;
  Message last_;
  uint32_t last_slot_ = kNone;
};

}  // namespace tutti::transport
