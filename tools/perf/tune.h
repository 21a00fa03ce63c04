// Measures algorithms against the built-in rules, for the collectives and sizes that were asked
// for, and makes rules of those that win: comm/tuning.h. All ranks of a job run it together and
// come to the same rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "comm/group.h"
#include "comm/tuning.h"
#include "tools/perf/measure.h"
#include "tutti/result.h"

namespace tutti::tools::perf {

struct TuneOptions {
  std::vector<CollectiveKind> kinds;
  Subject subject;  // type and operator
  uint64_t min_bytes = 8;
  uint64_t max_bytes = 0;
  uint64_t factor = 4;
  // When it is to be over. It is checked after every round of measurements, and each round begins
  // only in time.
  double seconds = 0;
};

// A size of a collective, and the sizes around it that will be decided as it is.
struct Cell {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  uint64_t bytes = 0;
  uint64_t min_bytes = 0;
  uint64_t max_bytes = 0;
};

// Small sizes first, so that what is left of their time goes to the large. Ranges reach half way
// (of a product) to the next size; none beyond what is measured, but the smallest down to nothing.
[[nodiscard]] std::vector<Cell> cells(const TuneOptions& options, uint32_t num_ranks);

// Calls `on_rule` for every rule when it is there.
[[nodiscard]] Result<std::vector<comm::TuningRule>> tune(
    const std::shared_ptr<comm::Group>& world, const TuneOptions& options,
    const std::function<void(const comm::TuningRule&)>& on_rule);

// `rules` in place of what `table` had for the same collectives and rank counts.
void put_rules(comm::TuningTable& table, const std::vector<comm::TuningRule>& rules);

}  // namespace tutti::tools::perf
