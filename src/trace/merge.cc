// One trace of several: each rank of a real run writes its own.
#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "trace/trace.h"

namespace tutti::trace {
namespace {

template <class T>
void append(std::vector<T>& all, std::vector<T> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

Result<Trace> merge(std::vector<Trace> traces) {
  if (traces.empty()) return Error{ErrorCode::kInvalidArgument, "there is no trace to merge"};
  Trace merged = std::move(traces.front());
  for (size_t i = 1; i < traces.size(); ++i) {
    Trace& next = traces[i];
    const bool is_same_run = next.source == merged.source && next.schedule == merged.schedule &&
                             next.num_ranks == merged.num_ranks &&
                             next.ticks_per_ns == merged.ticks_per_ns;
    if (!is_same_run) {
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("the traces are of different runs: {} of {} ranks and {} of {} ranks",
                      merged.schedule, merged.num_ranks, next.schedule, next.num_ranks)};
    }
    merged.num_lost += next.num_lost;
    append(merged.clocks, std::move(next.clocks));
    append(merged.calls, std::move(next.calls));
    append(merged.events, std::move(next.events));
  }
  return merged;
}

}  // namespace tutti::trace
