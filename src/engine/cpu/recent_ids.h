// The last so many numbers that were put in, for what must be remembered and must not grow: when it
// is full the oldest goes. Memory comes with the first number. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "engine/cpu/id_table.h"

namespace tutti::engine {

class RecentIds {
 public:
  explicit RecentIds(size_t most) : most_(most) {}

  [[nodiscard]] bool has(uint64_t id) const { return table_.find(id) != nullptr; }
  [[nodiscard]] size_t size() const { return table_.size(); }

  // The one that went for it, if one did.
  std::optional<uint64_t> add(uint64_t id) {
    if (has(id)) return std::nullopt;
    if (ids_ == nullptr) ids_ = std::make_unique_for_overwrite<uint64_t[]>(most_);
    uint64_t& place = ids_[num_added_ % most_];
    std::optional<uint64_t> gone;
    if (num_added_++ >= most_) {
      gone = place;
      table_.erase(place);
    }
    place = id;
    table_.insert(id, &place);
    return gone;
  }

 private:
  size_t most_;
  uint64_t num_added_ = 0;
  std::unique_ptr<uint64_t[]> ids_;  // in the order they came, round and round
  IdTable<uint64_t> table_;          // where each lies
};

}  // namespace tutti::engine
