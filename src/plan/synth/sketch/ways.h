// Which chunk may take which link, and which of these choices are one and the same by symmetry.
// A choice is (chunk, link); all choices that rotations carry into each other have one number.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/synth/sketch/demand.h"
#include "plan/synth/sketch/logical.h"
#include "tutti/result.h"

namespace tutti::plan::sketch {

class Ways {
 public:
  // kInvalidArgument where no way is left for some chunk, or a rotation does not fit the machine
  // and the sketch; kUnsupported where there are too many choices.
  static Result<Ways> make(const Logical& logical, const Demand& demand, const Sketch& sketch);

  [[nodiscard]] bool is_open(uint32_t chunk, uint32_t link) const {
    return choice(chunk, link) != kNone;
  }
  // The number shared by all choices that are the same; kNone where the link is closed to the
  // chunk.
  [[nodiscard]] uint32_t choice(uint32_t chunk, uint32_t link) const {
    return choices_[uint64_t{chunk} * num_links_ + link];
  }
  [[nodiscard]] uint32_t num_choices() const { return num_choices_; }
  // The same for (chunk, rank): when the chunk arrives there.
  [[nodiscard]] uint32_t arrival(uint32_t chunk, uint32_t rank) const {
    return arrivals_[uint64_t{chunk} * num_ranks_ + rank];
  }
  [[nodiscard]] uint32_t num_arrivals() const { return num_arrivals_; }

 private:
  Ways() = default;
  void open(const Logical& logical, const Demand& demand, const Sketch& sketch);
  Status check_reach(const Logical& logical, const Demand& demand) const;
  Status unite(const Logical& logical, const Demand& demand, const Sketch& sketch);

  uint64_t num_links_ = 0;
  uint64_t num_ranks_ = 0;
  uint32_t num_choices_ = 0;
  uint32_t num_arrivals_ = 0;
  std::vector<uint32_t> choices_;
  std::vector<uint32_t> arrivals_;
};

}  // namespace tutti::plan::sketch
