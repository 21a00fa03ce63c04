// Operations by number: open addressing, so that a lookup is one or two cache lines and an insert
// allocates only when the table grows. Numbers are hashes already. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::engine {

template <class T>
class IdTable {
 public:
  IdTable() : slots_(64) {}

  [[nodiscard]] T* find(uint64_t id) const {
    for (size_t i = home(id);; i = next(i)) {
      if (slots_[i].value == nullptr) return nullptr;
      if (slots_[i].id == id) return slots_[i].value;
    }
  }

  // The id must not be there.
  void insert(uint64_t id, T* value) {
    if (2 * ++size_ > slots_.size()) grow();
    place(id, value);
  }

  // The id must be there. Closes the gap, so that later lookups stop at the first empty slot.
  void erase(uint64_t id) {
    size_t gap = home(id);
    while (slots_[gap].id != id || slots_[gap].value == nullptr) gap = next(gap);
    for (size_t i = next(gap); slots_[i].value != nullptr; i = next(i)) {
      const size_t from_home = (i - home(slots_[i].id)) & (slots_.size() - 1);
      const size_t from_gap = (i - gap) & (slots_.size() - 1);
      if (from_home < from_gap) continue;
      slots_[gap] = slots_[i];
      gap = i;
    }
    slots_[gap] = {};
    --size_;
  }

  [[nodiscard]] size_t size() const { return size_; }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.value != nullptr) visit(*slot.value);
    }
  }

 private:
  struct Slot {
    uint64_t id = 0;
    T* value = nullptr;
  };

  [[nodiscard]] size_t home(uint64_t id) const { return id & (slots_.size() - 1); }
  [[nodiscard]] size_t next(size_t i) const { return (i + 1) & (slots_.size() - 1); }

  void place(uint64_t id, T* value) {
    size_t i = home(id);
    while (slots_[i].value != nullptr) i = next(i);
    slots_[i] = {id, value};
  }

  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.value != nullptr) place(slot.id, slot.value);
    }
  }

  std::vector<Slot> slots_;  // a power of two of them, at most half of them used
  size_t size_ = 0;
};

}  // namespace tutti::engine
