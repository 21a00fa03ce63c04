// The contributions of the ranks below meet in the place where x0 arrived. Then the own one is
// copied to the result and that sum added to it (a + b is b + a), and then those of the ranks
// above: in place, when the own contribution already lies in the result, nothing is copied.
#include "plan/algorithms/rank_order.h"

namespace tutti::plan {

using namespace ir;

StepRef reduce_in_rank_order(LaneWriter lane, Region own, Region result,
                             std::span<const Arrival> arrivals, After result_free) {
  const uint32_t r = lane.rank().value;
  for (uint32_t q = 1; q < r; ++q) {
    lane.reduce(arrivals[q].where, arrivals[0].where, {arrivals[0].step, arrivals[q].step});
  }
  StepRef last = lane.copy(own, result, result_free);
  if (r > 0) last = lane.reduce(arrivals[0].where, result, {arrivals[0].step});
  for (uint32_t q = r + 1; q < arrivals.size(); ++q) {
    last = lane.reduce(arrivals[q].where, result, {arrivals[q].step});
  }
  return last;
}

}  // namespace tutti::plan
