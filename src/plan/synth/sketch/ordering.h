// Stage two: in which order the chunks go over each link and port. A greedy list: the transfer that
// can begin first goes first; among those the one whose chunk has the longest way ahead.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/synth/sketch/demand.h"
#include "plan/synth/sketch/logical.h"

namespace tutti::plan::sketch {

struct Transfer {
  uint32_t chunk = 0;
  uint32_t link = 0;
  uint32_t parent = kNone;  // the transfer that brings the chunk to where this one starts
  double begin_ns = 0;
  double end_ns = 0;
  bool joins = false;  // is one message with the one before it on its link (stage three)
};

struct OrderingOptions {
  double chunk_bytes = 1;  // may be less than what routes were chosen for, where chunks are cut
  bool own_first = false;  // Sketch::own_first
};

// All transfers by begin; a parent always comes before its children.
[[nodiscard]] std::vector<Transfer> order(const Logical& logical, const Demand& demand,
                                          const std::vector<std::vector<uint32_t>>& links,
                                          const OrderingOptions& options);

// When the last one ends.
[[nodiscard]] double makespan_ns(const std::vector<Transfer>& transfers);

// What the busiest port has to carry: with many chunks behind each other, one more cannot take
// less.
[[nodiscard]] double interval_ns(const Logical& logical, const std::vector<Transfer>& transfers,
                                 double chunk_bytes);

}  // namespace tutti::plan::sketch
