#include "ir/schedule.h"

namespace tutti::ir {

std::string_view to_string(Placement placement) noexcept {
  switch (placement) {
    case Placement::kOutOfPlace: return "out_of_place";
    case Placement::kInPlace: return "in_place";
    case Placement::kEither: return "either";
  }
  return "";
}

std::optional<Placement> parse_placement(std::string_view text) noexcept {
  for (auto p : {Placement::kOutOfPlace, Placement::kInPlace, Placement::kEither}) {
    if (to_string(p) == text) return p;
  }
  return std::nullopt;
}

uint64_t num_steps(const Schedule& schedule) noexcept {
  uint64_t total = 0;
  for (const RankProgram& rank : schedule.ranks) {
    for (const Lane& lane : rank.lanes) total += lane.steps.size();
  }
  return total;
}

}  // namespace tutti::ir
