// The messages on their way during a replay: from the step that sends to the one that takes.
// Room is used again once a message was taken, so memory follows what is in flight at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "verify/facts.h"
#include "verify/memory.h"

namespace tutti::verify {

class Mail {
 public:
  explicit Mail(uint32_t num_steps) : place_of_(num_steps) {}

  void put(StepNumber sender, const std::vector<Value>& values) {
    if (values.empty()) return;
    std::vector<size_t>& free_places = free_places_[values.size()];
    if (free_places.empty()) {
      free_places.push_back(room_.size());
      room_.resize(room_.size() + values.size());
    }
    place_of_[sender] = free_places.back();
    free_places.pop_back();
    std::copy(values.begin(), values.end(), room_.begin() + at(sender));
  }

  // The message that `sender` put, of `count` values.
  void take(StepNumber sender, size_t count, std::vector<Value>& values) {
    values.clear();
    if (count == 0) return;
    values.insert(values.end(), room_.begin() + at(sender), room_.begin() + at(sender) + count);
    free_places_[count].push_back(place_of_[sender]);
  }

 private:
  [[nodiscard]] ptrdiff_t at(StepNumber sender) const {
    return static_cast<ptrdiff_t>(place_of_[sender]);
  }

  std::vector<size_t> place_of_;  // in room_, by sending step
  std::vector<Value> room_;
  std::unordered_map<size_t, std::vector<size_t>> free_places_;  // by number of values
};

}  // namespace tutti::verify
