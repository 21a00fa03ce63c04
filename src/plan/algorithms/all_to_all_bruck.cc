// A block that has to go `offset` ranks ahead goes there digit by digit: with the digits of its
// offset in base `radix`, the highest first, it moves digit * stride ranks at a time, together with
// all other blocks of the rank that have the same digit there. Few messages instead of p-1, for
// which blocks travel up to log p times: for short blocks.
//
// A rank has exactly one block of each offset at any time; lies_[offset] is where. At first that is
// input, then the scratch in which a message arrived. A message is one region, so blocks that lie
// here and there are packed first. Taking the highest digit first leaves the blocks of a message in
// few runs (they double with each digit), so about 2p copies are enough in all. A block whose last
// digits are zero has arrived and is copied to output at the end.
//
// Cost, radix R: log_R p alpha + n (R-1)/R log_R p beta; for R = 2: log2 p alpha +
// n/2 log2 p beta. Scratch is up to twice what is sent. R >= p is one direct message a peer.
#include <algorithm>

#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/pack.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

constexpr uint32_t kDefaultRadix = 2;

class AllToAllBruckWriter {
 public:
  AllToAllBruckWriter(Builder& b, RingPlace at)
      : b_(b), at_(at), lane_(b.add_lane(Rank{at.rank})), lies_(at.num_ranks) {
    for (uint32_t offset = 0; offset < at.num_ranks; ++offset) {
      lies_[offset] = input(at.ahead(offset));
    }
  }

  void write(uint64_t radix) {
    uint64_t stride = 1;
    while (stride * radix < at_.num_ranks) stride *= radix;
    for (; stride > 0; stride /= radix) {
      for (uint64_t distance = stride; is_digit(distance, stride, radix); distance += stride) {
        send(distance, stride, radix);
      }
      for (uint64_t distance = stride; is_digit(distance, stride, radix); distance += stride) {
        take(distance, stride, radix);
      }
    }
    settle();
  }

 private:
  bool is_digit(uint64_t distance, uint64_t stride, uint64_t radix) const {
    return distance < stride * radix && distance < at_.num_ranks;
  }

  // The offsets whose digit at `stride` is distance / stride.
  std::vector<uint32_t> moving(uint64_t distance, uint64_t stride, uint64_t radix) const {
    std::vector<uint32_t> offsets;
    for (uint64_t first = distance; first < at_.num_ranks; first += stride * radix) {
      const uint64_t end = std::min<uint64_t>(first + stride, at_.num_ranks);
      for (uint64_t offset = first; offset < end; ++offset) {
        offsets.push_back(static_cast<uint32_t>(offset));
      }
    }
    return offsets;
  }

  // The block of this offset that is on this rank after `travelled` ranks.
  ChunkId block(uint32_t offset, uint64_t travelled) const {
    const RingPlace origin{at_.behind(travelled), at_.num_ranks};
    return ChunkId{origin.rank * at_.num_ranks + origin.ahead(offset)};
  }

  void send(uint64_t distance, uint64_t stride, uint64_t radix) {
    std::vector<PlacedChunk> blocks;
    for (const uint32_t offset : moving(distance, stride, radix)) {
      const uint64_t travelled = offset - offset % (stride * radix);
      blocks.push_back({lies_[offset], block(offset, travelled)});
    }
    lane_.send(pack(b_, lane_, blocks), Rank{at_.ahead(distance)});
  }

  void take(uint64_t distance, uint64_t stride, uint64_t radix) {
    const Rank from{at_.behind(distance)};
    const std::vector<uint32_t> offsets = moving(distance, stride, radix);
    if (offsets.size() == 1 && offsets.front() % stride == 0) {
      lies_[offsets.front()] = output(at_.behind(offsets.front()));
      lane_.recv(lies_[offsets.front()], from);
      return;
    }
    std::vector<PlacedChunk> blocks;
    for (const uint32_t offset : offsets) {
      blocks.push_back({{}, block(offset, offset - offset % stride)});
    }
    const Region arrived = add_scratch_for(b_, lane_.rank(), blocks);
    lane_.recv(arrived, from);
    for (uint32_t i = 0; i < arrived.count; ++i) lies_[offsets[i]] = scratch(arrived.index + i);
  }

  void settle() {
    for (uint32_t offset = 0; offset < at_.num_ranks; ++offset) {
      if (lies_[offset].buffer == Buffer::kOutput) continue;
      lane_.copy(lies_[offset], output(at_.behind(offset)));
    }
  }

  Builder& b_;
  RingPlace at_;
  LaneWriter lane_;
  std::vector<Region> lies_;  // by offset
};

Result<Schedule> all_to_all_bruck(const Collective& collective, const Options& options) {
  if (options.radix == 1) {
    return Error{ErrorCode::kInvalidArgument,
                 "all_to_all bruck: radix 1 has no digits; take 2 or more"};
  }
  const uint32_t p = collective.num_ranks;
  const uint32_t radix = options.radix != 0 ? options.radix : kDefaultRadix;
  Builder b(collective, {.name = "bruck", .placement = Placement::kOutOfPlace});
  // A larger radix than p has the same one digit, and its powers would not fit.
  for (uint32_t r = 0; r < p; ++r)
    AllToAllBruckWriter(b, {r, p}).write(std::min(radix, std::max(p, 2u)));
  return std::move(b).finish();
}

}  // namespace

const Algorithm kAllToAllBruck{
    .kind = CollectiveKind::kAllToAll,
    .name = "bruck",
    .idea = "Blocks travel digit by digit of their distance, together with all that share it.",
    .cost = "(R-1) log_R p alpha + n (R-1)/R log_R p beta, R = radix (2)",
    .takes_chunks = false,
    .takes_radix = true,
    .takes_group_size = false,
    .make = all_to_all_bruck,
};

}  // namespace tutti::plan
