// The grammar of schedules: what must hold before any question about meaning can be asked.
// Every rank has a program, every region lies inside its buffer, every peer is another rank, every
// dependency names a step of the same rank, and unused fields are blank. Readers, the verifier and
// the simulator all start here, so that none of them can be led outside its arrays.
#pragma once

#include <optional>
#include <string>

#include "base/ids.h"
#include "ir/schedule.h"
#include "tutti/result.h"

namespace tutti::ir {

struct StepPlace {
  Rank rank;
  StepRef ref;
};

// kMalformed with "rank 3 lane 0 step 2: ..." for the first step that breaks the grammar. Where the
// complaint is about a step, `where` is set to it: readers turn it into a line.
[[nodiscard]] Status check_shape(const Schedule& schedule,
                                 std::optional<StepPlace>* where = nullptr);

// "rank 3 lane 0 step 2": how every message of tutti names a step.
[[nodiscard]] std::string step_name(Rank rank, StepRef ref);

}  // namespace tutti::ir
