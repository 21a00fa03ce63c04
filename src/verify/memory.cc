#include "verify/memory.h"

namespace tutti::verify {

using ir::Buffer;

Memory::Memory(const Facts& facts, const ContributionSets& sets, ir::Placement placement)
    : facts_(&facts) {
  const ir::Schedule& schedule = facts.schedule();
  uint64_t end = 0;
  for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
    ranks_.push_back(place_memory(schedule, facts.layout(), placement, Rank{r}, end));
    end = ranks_.back().end;
  }
  positions_.resize(end);
  for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
    for (uint32_t i = 0; i < facts.layout().num_chunks(Rank{r}, Buffer::kInput); ++i) {
      Position& position = positions_[address(Rank{r}, Buffer::kInput, i)];
      position.chunk = facts.layout().chunk_at(Rank{r}, Buffer::kInput, i);
      position.contributions = sets.only(Rank{r});
    }
  }
}

bool Memory::may_write(Rank rank, ir::Region region) const {
  if (region.buffer != Buffer::kInput) return true;
  const uint64_t begin = address(rank, Buffer::kInput, region.index);
  const uint64_t output = address(rank, Buffer::kOutput, 0);
  const uint64_t num_output = facts_->layout().num_chunks(rank, Buffer::kOutput);
  return begin >= output && begin + region.count <= output + num_output;
}

StepNumber Memory::read(uint64_t address, StepNumber step, StepNumber until, Reachability& order) {
  Position& position = positions_[address];
  const StepNumber writer = position.writer;
  const bool is_ordered = writer == kNoStep || writer == step || order.happens_before(writer, step);
  remember_reader(position, until);
  return is_ordered ? kNoStep : writer;
}

StepNumber Memory::write(uint64_t address, StepNumber step, Value value, Reachability& order) {
  Position& position = positions_[address];
  const StepNumber conflict = find_conflict(position, step, order);
  forget_readers(position);
  position.chunk = value.chunk;
  position.contributions = value.contributions;
  position.writer = step;
  return conflict;
}

// Reads were ordered after the last write, so a write that is ordered after them is after it too.
StepNumber Memory::find_conflict(const Position& position, StepNumber step,
                                 Reachability& order) const {
  const auto is_before = [&](StepNumber other) {
    return other == kNoStep || other == step || order.happens_before(other, step);
  };
  if (position.reader == kNoStep) return is_before(position.writer) ? kNoStep : position.writer;
  if (!is_before(position.reader)) return position.reader;
  for (uint32_t i = position.more_readers; i != kNoMore; i = readers_[i].next) {
    if (!is_before(readers_[i].until)) return readers_[i].until;
  }
  return kNoStep;
}

void Memory::remember_reader(Position& position, StepNumber until) {
  const StepNumber before = position.reader;
  position.reader = until;
  if (before == kNoStep || before == until) return;
  // A read that ends earlier in the same lane is ordered before all that this one is.
  if (before < until && facts_->lane_of(before) == facts_->lane_of(until)) return;
  if (free_reader_ == kNoMore) {
    free_reader_ = static_cast<uint32_t>(readers_.size());
    readers_.push_back({kNoStep, kNoMore});
  }
  const uint32_t entry = free_reader_;
  free_reader_ = readers_[entry].next;
  readers_[entry] = {before, position.more_readers};
  position.more_readers = entry;
}

void Memory::forget_readers(Position& position) {
  position.reader = kNoStep;
  while (position.more_readers != kNoMore) {
    const uint32_t entry = position.more_readers;
    position.more_readers = readers_[entry].next;
    readers_[entry].next = free_reader_;
    free_reader_ = entry;
  }
}

}  // namespace tutti::verify
