#include "plan/algorithms/pack.h"

#include "base/check.h"

namespace tutti::plan {
namespace {

using namespace ir;

// The longest region that begins with the first of the chunks and goes on with those after it.
Region first_run(std::span<const PlacedChunk> chunks) {
  Region run = chunks.front().where;
  while (run.count < chunks.size()) {
    const Region next = chunks[run.count].where;
    if (next.buffer != run.buffer || next.index != run.index + run.count) break;
    ++run.count;
  }
  return run;
}

}  // namespace

Region add_scratch_for(Builder& b, Rank rank, std::span<const PlacedChunk> chunks) {
  TUTTI_CHECK(!chunks.empty(), "a message of data has at least one chunk");
  const uint32_t first = b.add_scratch(rank, chunks.front().chunk);
  for (const PlacedChunk& placed : chunks.subspan(1)) b.add_scratch(rank, placed.chunk);
  return scratch(first, static_cast<uint32_t>(chunks.size()));
}

Region pack(Builder& b, LaneWriter lane, std::span<const PlacedChunk> chunks) {
  TUTTI_CHECK(!chunks.empty(), "a message of data has at least one chunk");
  if (const Region all = first_run(chunks); all.count == chunks.size()) return all;
  const Region packed = add_scratch_for(b, lane.rank(), chunks);
  for (uint32_t done = 0; done < packed.count;) {
    const Region run = first_run(chunks.subspan(done));
    lane.copy(run, scratch(packed.index + done, run.count));
    done += run.count;
  }
  return packed;
}

}  // namespace tutti::plan
