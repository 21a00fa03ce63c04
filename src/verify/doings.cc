#include "verify/doings.h"

#include <algorithm>

namespace tutti::verify {
namespace {

bool is_whole(const std::vector<Value>& values, const ContributionSets& sets) {
  return !values.empty() && std::all_of(values.begin(), values.end(), [&](const Value& value) {
    return value.contributions == sets.all();
  });
}

bool has_chunk(const std::vector<Value>& values, Rank owner) {
  return std::any_of(values.begin(), values.end(),
                     [&](const Value& value) { return value.chunk.value == owner.value; });
}

// A step that stores or passes on a message as it came.
bool keeps(ir::StepKind kind) {
  return kind == ir::StepKind::kRecv || kind == ir::StepKind::kRecvCopySend;
}

uint64_t key_of(const Doing& doing, uint32_t trait) {
  uint64_t key = static_cast<uint64_t>(doing.step.kind);
  const uint64_t buffer =
      ir::writes_dst(doing.step.kind) ? 1 + static_cast<uint64_t>(doing.step.dst_buffer) : 0;
  key = key << 8 | buffer;
  for (const bool is : {doing.gives_whole, doing.takes_whole, doing.gives_taken,
                        doing.gives_its_own, doing.takes_its_own}) {
    key = key << 1 | static_cast<uint64_t>(is);
  }
  return key << 32 | trait;
}

}  // namespace

void Doings::ran(StepNumber step, const std::vector<Value>& result, const ContributionSets& sets,
                 std::vector<Doing>& round) {
  const Doing doing = look(step, result, sets);
  const uint64_t key = key_of(doing, trait_of_ ? trait_of_(doing.rank, doing.step) : 0);
  if (std::find(keys_.begin(), keys_.end(), key) == keys_.end()) {
    keys_.push_back(key);
    round.push_back(doing);
  }
  note_writes(doing.rank, doing.step);
}

Doing Doings::look(StepNumber step, const std::vector<Value>& result,
                   const ContributionSets& sets) const {
  Doing doing{.rank = facts_.rank(step), .step = facts_.step(step)};
  const ir::Step& its = doing.step;
  const bool whole = is_whole(result, sets);
  if (ir::receives(its.kind)) {
    // A sum over all ranks cannot be added to: what is reduced was not whole.
    doing.takes_whole = whole && keeps(its.kind);
    doing.takes_its_own = has_chunk(result, doing.rank);
  }
  if (ir::sends(its.kind)) {
    doing.gives_whole = whole;
    doing.gives_its_own = has_chunk(result, its.send_peer);
    doing.gives_taken = its.kind == ir::StepKind::kSend ? was_taken(doing.rank, its.src())
                                                        : keeps(its.kind) && !result.empty();
  }
  return doing;
}

bool Doings::was_taken(Rank rank, ir::Region region) const {
  const uint64_t first = memory_[rank.value].address(region.buffer, region.index);
  for (uint64_t at = first; at < first + region.count; ++at) {
    if (at < was_taken_.size() && was_taken_[at]) return true;
  }
  return false;
}

void Doings::note_writes(Rank rank, const ir::Step& step) {
  if (!ir::writes_dst(step.kind)) return;
  was_taken_.resize(memory_.back().end);
  const uint64_t first = memory_[rank.value].address(step.dst_buffer, step.dst_index);
  for (uint32_t i = 0; i < step.num_chunks; ++i) {
    const bool copies = step.kind == ir::StepKind::kCopy;
    was_taken_[first + i] =
        keeps(step.kind) || (copies && was_taken(rank, {step.src_buffer, step.src_index + i, 1}));
  }
}

}  // namespace tutti::verify
