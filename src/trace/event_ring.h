// The last events of one producer, in fixed memory. The producer never waits and never allocates:
// when the ring is full it overwrites the oldest event. Any other thread may read at any time; it
// gets only whole events, and learns how many were lost before it came.
//
// One thread calls push. Any number of threads call collect, each with a cursor of its own.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "trace/event.h"

namespace tutti::trace {

class EventRing {
 public:
  // Where a reader stands.
  struct Cursor {
    uint64_t next = 0;      // number of the first event not read yet
    uint64_t num_lost = 0;  // events that were gone before they were read
  };

  // Room for at least `capacity` events; it is rounded up to a power of two.
  explicit EventRing(uint32_t capacity)
      : mask_(std::bit_ceil(uint64_t{capacity}) - 1), slots_(new Slot[mask_ + 1]) {}

  [[nodiscard]] uint64_t capacity() const { return mask_ + 1; }
  // All events ever pushed.
  [[nodiscard]] uint64_t num_pushed() const { return num_pushed_.load(std::memory_order_acquire); }

  void push(const Event& event) noexcept;
  // Appends the events from the cursor on, oldest first, and moves the cursor past them.
  void collect(Cursor& cursor, std::vector<Event>& events) const;

 private:
  static constexpr size_t kWords = sizeof(Event) / sizeof(uint64_t);
  static_assert(sizeof(Event) % sizeof(uint64_t) == 0);

  // `version` is odd while event number version / 2 is being written, and 2 * number + 2 once it
  // is there. Words are atomic so that reading a half-written slot is defined; the version then
  // says that it must not be used.
  struct Slot {
    std::atomic<uint64_t> version{0};
    std::array<std::atomic<uint64_t>, kWords> words{};
  };
  static_assert(sizeof(Slot) == 64);

  [[nodiscard]] bool read(uint64_t number, Event& event) const noexcept;

  uint64_t mask_;
  std::unique_ptr<Slot[]> slots_;
  std::atomic<uint64_t> num_pushed_{0};
};

inline void EventRing::push(const Event& event) noexcept {
  const uint64_t number = num_pushed_.load(std::memory_order_relaxed);
  Slot& slot = slots_[number & mask_];
  const auto words = std::bit_cast<std::array<uint64_t, kWords>>(event);
  slot.version.store(2 * number + 1, std::memory_order_relaxed);
  // Pairs with the acquiring loads of words in read(): who sees one of our words sees the odd
  // version too when it looks again.
  for (size_t i = 0; i < kWords; ++i) slot.words[i].store(words[i], std::memory_order_release);
  // Pairs with the first load of version in read().
  slot.version.store(2 * number + 2, std::memory_order_release);
  // Pairs with num_pushed().
  num_pushed_.store(number + 1, std::memory_order_release);
}

inline bool EventRing::read(uint64_t number, Event& event) const noexcept {
  const Slot& slot = slots_[number & mask_];
  if (slot.version.load(std::memory_order_acquire) != 2 * number + 2) return false;
  std::array<uint64_t, kWords> words;
  for (size_t i = 0; i < kWords; ++i) words[i] = slot.words[i].load(std::memory_order_acquire);
  if (slot.version.load(std::memory_order_relaxed) != 2 * number + 2) return false;
  event = std::bit_cast<Event>(words);
  return true;
}

inline void EventRing::collect(Cursor& cursor, std::vector<Event>& events) const {
  const uint64_t end = num_pushed();
  if (end - cursor.next > capacity()) {
    cursor.num_lost += end - capacity() - cursor.next;
    cursor.next = end - capacity();
  }
  for (; cursor.next < end; ++cursor.next) {
    Event event;
    if (read(cursor.next, event)) {
      events.push_back(event);
    } else {
      ++cursor.num_lost;  // the producer came around meanwhile
    }
  }
}

}  // namespace tutti::trace
