// In the round of distance d = 1, 2, 4, ... a rank has the d blocks that begin with its own; it
// gets the next d (in the last round: what is still missing) from the rank d ahead, and gives its
// own first ones to the rank d behind. Any number of ranks takes ceil(log2 p) rounds.
//
// Blocks go to their final position at once, so there is nothing to rotate at the end. What is sent
// begins with the sender's block and may wrap around from the last block to the first. A message is
// one region, so what is behind the wrap goes as a second message at the same time: in a `side`
// lane with a channel of its own.
//
// Cost: ceil(log2 p) alpha + n (p-1)/p beta.
#include <algorithm>
#include <optional>

#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

// The blocks [first, first + count) of output, cut where the block numbers wrap.
std::vector<Region> regions_of(uint32_t first, uint32_t count, uint32_t num_ranks) {
  const uint32_t before_wrap = std::min(count, num_ranks - first);
  if (before_wrap == count) return {output(first, count)};
  return {output(first, before_wrap), output(0, count - before_wrap)};
}

class AllGatherBruckWriter {
 public:
  AllGatherBruckWriter(Builder& b, RingPlace at)
      : b_(b), at_(at), main_(b.add_lane(Rank{at.rank})) {}

  void write() {
    const uint32_t p = at_.num_ranks;
    if (p > 1) main_.send(input(0), at_.previous());
    main_.copy(input(0), output(at_.rank));
    if (p > 1) main_took_ = main_.recv(output(at_.next().value), at_.next());
    for (uint64_t distance = 2; distance < p; distance *= 2) {
      const auto count = static_cast<uint32_t>(std::min(distance, p - distance));
      const Rank ahead{at_.ahead(distance)};
      give(regions_of(at_.rank, count, p), Rank{at_.behind(distance)});
      take(regions_of(ahead.value, count, p), ahead);
    }
  }

 private:
  // What one lane gives, the other may have taken.
  void give(const std::vector<Region>& have, Rank to) {
    main_.send(have[0], to, side_took_ ? After({&*side_took_, 1}) : After());
    if (have.size() > 1) side().send(have[1], to, {main_took_});
  }
  void take(const std::vector<Region>& missing, Rank from) {
    main_took_ = main_.recv(missing[0], from);
    if (missing.size() > 1) side_took_ = side().recv(missing[1], from);
  }
  LaneWriter& side() {
    if (!side_) side_ = b_.add_lane(Rank{at_.rank}, 1);
    return *side_;
  }

  Builder& b_;
  RingPlace at_;
  LaneWriter main_;
  std::optional<LaneWriter> side_;
  StepRef main_took_;
  std::optional<StepRef> side_took_;
};

Result<Schedule> all_gather_bruck(const Collective& collective, const Options&) {
  Builder b(collective, {.name = "bruck"});
  for (uint32_t r = 0; r < b.num_ranks(); ++r) AllGatherBruckWriter(b, {r, b.num_ranks()}).write();
  return std::move(b).finish();
}

}  // namespace

const Algorithm kAllGatherBruck{
    .kind = CollectiveKind::kAllGather,
    .name = "bruck",
    .idea = "Each rank fetches as many blocks as it has from 1, 2, 4, ... ranks ahead.",
    .cost = "ceil(log2 p) alpha + n (p-1)/p beta",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = all_gather_bruck,
};

}  // namespace tutti::plan
