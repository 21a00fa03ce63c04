// Which of several ways is the fastest, on a machine that does other things too.
//
// All are measured by turns, so that a slow moment meets all of them, and judged by their medians.
// The fastest of many is also the luckiest: it must win again, alone against the one in use, with
// measurements made anew, and by a margin. In doubt the one in use stays.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tutti/result.h"

namespace tutti::tools::perf {

// A challenger must need at most this part of the time.
inline constexpr double kMargin = 0.95;

struct Round {
  std::vector<double> us;  // one for each that was asked for
  double used = 0;         // of the time for this contest: 1 is all
  bool is_late = false;    // no time is left at all
};
// Measures each of them once, in this order.
using Sampler = std::function<Result<Round>(std::span<const size_t> entrants)>;

struct Outcome {
  size_t winner = 0;
  double us = 0;
  double default_us = 0;
};

// Entrant 0 is the one in use. Nothing when time ran out before enough was seen.
[[nodiscard]] Result<std::optional<Outcome>> hold_contest(size_t num_entrants,
                                                          const Sampler& sample);

}  // namespace tutti::tools::perf
