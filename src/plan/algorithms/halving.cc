#include "plan/algorithms/halving.h"

namespace tutti::plan {
namespace {

using namespace ir;

Region region(Buffer buffer, uint32_t first_chunk, Range parts) {
  return {buffer, first_chunk + parts.begin, parts.size()};
}

Split split_of(Range group, uint32_t member, const std::function<Rank(uint32_t)>& rank_of) {
  const uint32_t middle = group.begin + (group.size() + 1) / 2;
  const Range lower{group.begin, middle};
  const Range upper{middle, group.end};
  const bool has_lone = lower.size() > upper.size();
  const uint32_t lone = middle - 1;
  const uint32_t helper = middle + upper.size() / 2;
  if (has_lone && member == lone) return {lower, upper, rank_of(helper), {}};
  if (member < middle) {
    const Rank partner = rank_of(middle + (member - group.begin));
    return {lower, upper, partner, {partner}};
  }
  const Rank partner = rank_of(group.begin + (member - middle));
  Split split{upper, lower, partner, {partner}};
  if (has_lone && member == helper) split.takes_from.push_back(rank_of(lone));
  return split;
}

}  // namespace

std::vector<Split> halve(uint32_t num_members, uint32_t member,
                         const std::function<Rank(uint32_t)>& rank_of) {
  std::vector<Split> splits;
  Range group{0, num_members};
  while (group.size() > 1) {
    splits.push_back(split_of(group, member, rank_of));
    group = splits.back().mine;
  }
  return splits;
}

std::vector<Split> halve(uint32_t num_ranks, Rank rank) {
  return halve(num_ranks, rank.value, [](uint32_t member) { return Rank{member}; });
}

void reduce_by_halving(LaneWriter lane, std::span<const Split> splits, uint32_t first_chunk,
                       Buffer contributions, After after) {
  Buffer from = contributions;
  StepRef before;
  for (const Split& split : splits) {
    before = lane.send(region(from, first_chunk, split.other), split.gives_to, after);
    after = After({&before, 1});
    for (const Rank peer : split.takes_from) {
      lane.recv_reduce(region(from, first_chunk, split.mine),
                       region(Buffer::kOutput, first_chunk, split.mine), peer);
      from = Buffer::kOutput;
    }
  }
}

StepRef gather_by_doubling(LaneWriter lane, std::span<const Split> splits, uint32_t first_chunk) {
  StepRef last;
  std::vector<StepRef> before;
  for (auto split = splits.rbegin(); split != splits.rend(); ++split) {
    std::vector<StepRef> sent;
    for (const Rank peer : split->takes_from) {
      sent.push_back(
          lane.send(region(Buffer::kOutput, first_chunk, split->mine), peer, After(before)));
    }
    if (!sent.empty()) before = std::move(sent);
    last = lane.recv(region(Buffer::kOutput, first_chunk, split->other), split->gives_to);
  }
  return last;
}

}  // namespace tutti::plan
