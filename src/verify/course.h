// Which case of a schedule was followed for people to watch, and how it ended. What they see of it
// is in history.h, cell by cell, and in overview.h, summed up.
#pragma once

#include <optional>
#include <vector>

#include "base/ids.h"
#include "ir/schedule.h"
#include "verify/check.h"

namespace tutti::verify {

struct StepName {
  Rank rank;
  ir::StepRef step;

  friend bool operator==(const StepName&, const StepName&) = default;
};

struct Course {
  Discipline discipline = Discipline::kLending;
  ir::Placement placement = ir::Placement::kOutOfPlace;

  std::optional<Refusal> refusal;  // what check says of the schedule
  // The fault at which this replay stopped: of the same schedule, but the first in the order of
  // rounds, which need not be the one that check names.
  std::optional<Refusal> stopped_by;
  std::vector<StepName> stuck;  // of a deadlock: the step at which each lane stands
};

}  // namespace tutti::verify
