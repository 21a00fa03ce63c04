#include "tools/perf/measure.h"

#include <chrono>
#include <span>

#include "base/try.h"
#include "tools/perf/buffers.h"

namespace tutti::tools::perf {

bool splits_row(CollectiveKind kind) {
  return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kGather ||
         kind == CollectiveKind::kScatter;
}

uint64_t elems_for(const Subject& subject, uint32_t num_ranks, uint64_t bytes) {
  const uint64_t elems = bytes / size_of(subject.type);
  return splits_row(subject.kind) ? elems / num_ranks * num_ranks : elems;
}

double bus_factor(CollectiveKind kind, uint32_t num_ranks) {
  const double others = (num_ranks - 1.0) / num_ranks;
  if (kind == CollectiveKind::kAllReduce) return 2 * others;
  return splits_row(kind) ? others : 1;
}

Result<Measured> measure(Communicator& comm, const Subject& subject, uint64_t elems,
                         Placing placing) {
  using Clock = std::chrono::steady_clock;
  Buffers buffers(comm, subject, elems);
  TUTTI_TRY(buffers.make(comm, placing));
  const Call call = buffers.call();
  buffers.fill();
  for (uint32_t i = 0; i < subject.warmups; ++i) TUTTI_TRY(comm.submit(call).wait());
  TUTTI_TRY(comm.barrier().wait());
  const auto begin = Clock::now();
  for (uint32_t i = 0; i < subject.iterations; ++i) TUTTI_TRY(comm.submit(call).wait());
  const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
  Measured measured{took.count() / subject.iterations, 0};
  for (uint32_t i = 0; i < subject.checks; ++i) {
    // All have left the timed calls, so that no input is filled while it is read.
    TUTTI_TRY(comm.barrier().wait());
    buffers.fill();
    TUTTI_TRY(comm.submit(call).wait());
    measured.wrong += buffers.wrong();
  }
  TUTTI_TRY(comm.all_reduce(std::span(&measured.us, 1), {.op = Op::kMax}).wait());
  TUTTI_TRY(comm.all_reduce(std::span(&measured.wrong, 1)).wait());
  return measured;
}

}  // namespace tutti::tools::perf
