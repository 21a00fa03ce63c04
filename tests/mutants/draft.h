// A schedule that can be cut up: steps know their dependencies by name, so that steps may be
// dropped, moved and doubled without the others' dependencies pointing elsewhere.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/schedule.h"

namespace tutti::mutants {

struct DraftStep {
  ir::Step step;
  uint32_t id;                  // of this step in its draft
  std::vector<uint32_t> after;  // ids of steps of the same rank
};

struct DraftLane {
  uint32_t channel;
  std::vector<DraftStep> steps;
};

struct Draft {
  explicit Draft(const ir::Schedule& schedule);

  // Blanks what a step's kind does not use, and forgets dependencies on steps that are gone.
  [[nodiscard]] ir::Schedule to_schedule() const;

  ir::Schedule head;  // all but the programs
  std::vector<std::vector<DraftLane>> ranks;
  uint32_t next_id = 0;
};

}  // namespace tutti::mutants
