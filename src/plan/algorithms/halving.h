// Recursive halving for any number of members, and its mirror image, recursive doubling.
//
// A group of members 0 .. n-1, each responsible for the part of its number, splits into a lower and
// an upper half; everyone gives what it has of the other half's parts to a member of that half, and
// the halves go on by themselves. After ceil(log2 n) splits each member has all of its own part.
//
// In a group of odd size the lower half has one member more. The lone one, the last of the lower
// half, gives to the helper, the middle one of the upper half, which so takes from two; the lone
// one takes from nobody, and since its group still sums up to the same, nothing is missing. Helpers
// are late for the next split; from the middle, lateness spreads to other members than the helpers
// of later splits. (The first of an upper half would be late for every helper after it.)
//
// What is given at a split waits until what was given at the one before was taken. Otherwise what a
// helper takes late would share the sender's link with the next message, and make that late too.
//
// Read backwards, with "gives" and "takes" exchanged, the same splits gather what was scattered.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "ir/builder.h"

namespace tutti::plan {

struct Range {
  uint32_t begin = 0;
  uint32_t end = 0;

  [[nodiscard]] uint32_t size() const { return end - begin; }
};

// A group falls into two, as one member sees it.
struct Split {
  Range mine;   // the parts of the half that this member is in
  Range other;  // the parts of the other half
  Rank gives_to;
  std::vector<Rank> takes_from;  // none, one or two
};

// The splits that `member` goes through, the whole group first. `rank_of` says which rank a member
// is.
[[nodiscard]] std::vector<Split> halve(uint32_t num_members, uint32_t member,
                                       const std::function<Rank(uint32_t)>& rank_of);
// The same for members that are the ranks 0 .. num_ranks - 1.
[[nodiscard]] std::vector<Split> halve(uint32_t num_ranks, Rank rank);

// Writes the reduce-scatter of an all-reduce whose part i is chunk first_chunk + i: contributions
// lie in `contributions` (input, or output where they were reduced before), sums go to output. The
// first step runs after `after`.
void reduce_by_halving(ir::LaneWriter lane, std::span<const Split> splits, uint32_t first_chunk,
                       ir::Buffer contributions, ir::After after);

// Writes the all-gather that undoes the splits: part i is chunk first_chunk + i of output, where
// the member's own part lies already. Returns the last step; there must be at least one split.
ir::StepRef gather_by_doubling(ir::LaneWriter lane, std::span<const Split> splits,
                               uint32_t first_chunk);

}  // namespace tutti::plan
