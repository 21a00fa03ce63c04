// One trace of several: each rank of a real run writes its own.
#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <set>
#include <utility>

#include "trace/trace.h"

namespace tutti::trace {
namespace {

template <class T>
void append(std::vector<T>& all, std::vector<T> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// Those that wrote something down: a rank writes one trace a run.
std::set<uint32_t> ranks_of(const Trace& trace) {
  std::set<uint32_t> ranks;
  for (const Call& call : trace.calls) ranks.insert(call.rank);
  for (const Event& event : trace.events) ranks.insert(event.rank);
  return ranks;
}

}  // namespace

Result<Trace> merge(std::vector<Trace> traces) {
  if (traces.empty()) return Error{ErrorCode::kInvalidArgument, "there is no trace to merge"};
  Trace merged = std::move(traces.front());
  std::set<uint32_t> ranks = ranks_of(merged);
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
    for (const uint32_t rank : ranks_of(next)) {
      if (ranks.insert(rank).second) continue;
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("two traces have rank {}: they are of different runs; open those of "
                               "one run alone",
                               rank)};
    }
    merged.num_lost += next.num_lost;
    append(merged.clocks, std::move(next.clocks));
    append(merged.calls, std::move(next.calls));
    append(merged.events, std::move(next.events));
  }
  return merged;
}

}  // namespace tutti::trace
