// The next thing to happen. Every actor (a lane, a connection) has at most one time at which it
// wants to be called; setting it again moves it. A 4-ary heap that knows where each actor stands,
// so that a transfer whose rate changed is moved instead of leaving a stale entry behind.
//
// Equal times come out in the order of actor numbers.
#pragma once

#include <cstdint>
#include <vector>

namespace tutti::sim {

class EventQueue {
 public:
  explicit EventQueue(uint32_t num_actors) : place_(num_actors, kAbsent) {}

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] double next_time() const { return heap_.front().time; }

  void set(uint32_t actor, double time) {
    const Entry entry{time, actor};
    if (place_[actor] == kAbsent) {
      heap_.push_back(entry);
      rise(static_cast<uint32_t>(heap_.size() - 1), entry);
      return;
    }
    const uint32_t at = place_[actor];
    if (before(entry, heap_[at])) {
      rise(at, entry);
    } else {
      sink(at, entry);
    }
  }

  // Removes and returns the actor whose time is next.
  uint32_t pop() {
    const uint32_t actor = heap_.front().actor;
    const Entry last = heap_.back();
    heap_.pop_back();
    place_[actor] = kAbsent;
    if (!heap_.empty()) sink(0, last);
    return actor;
  }

 private:
  static constexpr uint32_t kAbsent = UINT32_MAX;
  static constexpr uint32_t kArity = 4;

  struct Entry {
    double time;
    uint32_t actor;
  };

  static bool before(const Entry& a, const Entry& b) {
    return a.time < b.time || (a.time == b.time && a.actor < b.actor);
  }

  void put(uint32_t at, const Entry& entry) {
    heap_[at] = entry;
    place_[entry.actor] = at;
  }

  void rise(uint32_t at, const Entry& entry) {
    while (at > 0) {
      const uint32_t parent = (at - 1) / kArity;
      if (!before(entry, heap_[parent])) break;
      put(at, heap_[parent]);
      at = parent;
    }
    put(at, entry);
  }

  void sink(uint32_t at, const Entry& entry) {
    const auto size = static_cast<uint32_t>(heap_.size());
    while (true) {
      const uint64_t first = uint64_t{at} * kArity + 1;
      if (first >= size) break;
      auto least = static_cast<uint32_t>(first);
      const auto end = static_cast<uint32_t>(first + kArity < size ? first + kArity : size);
      for (uint32_t child = least + 1; child < end; ++child) {
        if (before(heap_[child], heap_[least])) least = child;
      }
      if (!before(heap_[least], entry)) break;
      put(at, heap_[least]);
      at = least;
    }
    put(at, entry);
  }

  std::vector<Entry> heap_;
  std::vector<uint32_t> place_;  // of each actor in the heap
};

}  // namespace tutti::sim
