// Writes a schedule step by step; the way every algorithm is expressed.
//
//   Builder b(collective, {.name = "ring", .chunks_per_block = p});
//   LaneWriter lane = b.add_lane(Rank{0});
//   StepRef first = lane.send(input(0), Rank{1});
//   lane.recv(output(1), Rank{3}, {first});      // runs after `first` is complete
//   Schedule schedule = std::move(b).finish();
//
// The builder trusts its caller, who is the planner: a region, peer or dependency that cannot be
// is a bug of ours and fails a TUTTI_CHECK. Whether the schedule is right is for verify to say.
// A schedule of more than max_steps throws std::length_error, as a vector would: a number of ranks
// that a user typed must not eat the machine. plan::make turns it into an Error.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "base/ids.h"
#include "ir/layout.h"
#include "ir/schedule.h"
#include "ir/step.h"

namespace tutti::ir {

class Builder;

// Of all ranks together: 4 GiB of steps, a ring all_reduce of 8,192 ranks.
inline constexpr uint64_t kMaxSteps = uint64_t{1} << 27;

// The steps that must be complete before this one runs. A send is complete when its data was taken.
// Refers to its argument only until the call returns.
class After {
 public:
  After() = default;
  After(std::initializer_list<StepRef> refs) : refs_(refs.begin(), refs.size()) {}
  After(std::span<const StepRef> refs) : refs_(refs) {}
  [[nodiscard]] std::span<const StepRef> refs() const { return refs_; }

 private:
  std::span<const StepRef> refs_;
};

// Appends steps to one lane. Cheap to copy; valid as long as its Builder.
class LaneWriter {
 public:
  StepRef copy(Region src, Region dst, After after = {});
  StepRef reduce(Region src, Region dst, After after = {});
  StepRef send(Region src, Rank to, After after = {});
  StepRef recv(Region dst, Rank from, After after = {});
  StepRef recv_reduce(Region src, Region dst, Rank from, After after = {});
  StepRef recv_copy_send(Region dst, Rank from, Rank to, After after = {});
  StepRef recv_reduce_send(Region src, Rank from, Rank to, After after = {});
  StepRef recv_reduce_copy_send(Region src, Region dst, Rank from, Rank to, After after = {});

  [[nodiscard]] Rank rank() const { return rank_; }
  // The step that the next call will write.
  [[nodiscard]] StepRef next() const;

 private:
  friend class Builder;
  LaneWriter(Builder* builder, Rank rank, uint32_t lane)
      : builder_(builder), rank_(rank), lane_(lane) {}
  StepRef append(Step step, After after);

  Builder* builder_;
  Rank rank_;
  uint32_t lane_;
};

struct BuilderOptions {
  std::string name = {};
  uint32_t chunks_per_block = 1;
  uint32_t slots = 2;
  Placement placement = Placement::kEither;
  uint64_t max_steps = kMaxSteps;
};

class Builder {
 public:
  // The collective must be one that Layout::create accepts.
  Builder(const Collective& collective, BuilderOptions options);
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] uint32_t num_ranks() const { return schedule_.collective.num_ranks; }

  LaneWriter add_lane(Rank rank, uint32_t channel = 0);
  // Adds a scratch position of the size of `sized_as` and returns its index.
  uint32_t add_scratch(Rank rank, ChunkId sized_as);

  [[nodiscard]] Schedule finish() &&;

 private:
  friend class LaneWriter;

  Schedule schedule_;
  Layout layout_;
  uint64_t steps_left_;
};

}  // namespace tutti::ir
