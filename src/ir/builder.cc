#include "ir/builder.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include "base/check.h"

namespace tutti::ir {
namespace {

Layout layout_of(const Collective& collective, uint32_t chunks_per_block) {
  Result<Layout> layout = Layout::create(collective, chunks_per_block);
  TUTTI_CHECK(layout.ok(), "a planner builds only collectives that exist");
  return *layout;
}

Step local_step(StepKind kind, Region src, Region dst) {
  TUTTI_CHECK(src.count == dst.count, "a step moves as many chunks as it reads");
  Step step;
  step.kind = kind;
  step.src_buffer = src.buffer;
  step.src_index = src.index;
  step.dst_buffer = dst.buffer;
  step.dst_index = dst.index;
  step.num_chunks = src.count;
  return step;
}

Step reading_step(StepKind kind, Region src) {
  return local_step(kind, src, {Buffer::kInput, 0, src.count});
}

Step writing_step(StepKind kind, Region dst) {
  return local_step(kind, {Buffer::kInput, 0, dst.count}, dst);
}

// Lanes may be written in any interleaving; the list of dependencies is kept in step order, so that
// equal schedules have equal bytes.
void sort_deps(RankProgram& program) {
  std::vector<StepRef> sorted;
  sorted.reserve(program.deps.size());
  for (Lane& lane : program.lanes) {
    for (Step& step : lane.steps) {
      if (step.num_deps == 0) continue;
      const auto deps = program.deps_of(step);
      step.first_dep = static_cast<uint32_t>(sorted.size());
      sorted.insert(sorted.end(), deps.begin(), deps.end());
    }
  }
  program.deps = std::move(sorted);
}

Step with_peers(Step step, Rank from, Rank to) {
  step.recv_peer = from;
  step.send_peer = to;
  return step;
}

}  // namespace

StepRef LaneWriter::copy(Region src, Region dst, After after) {
  return append(local_step(StepKind::kCopy, src, dst), after);
}

StepRef LaneWriter::reduce(Region src, Region dst, After after) {
  return append(local_step(StepKind::kReduce, src, dst), after);
}

StepRef LaneWriter::send(Region src, Rank to, After after) {
  return append(with_peers(reading_step(StepKind::kSend, src), kNoRank, to), after);
}

StepRef LaneWriter::recv(Region dst, Rank from, After after) {
  return append(with_peers(writing_step(StepKind::kRecv, dst), from, kNoRank), after);
}

StepRef LaneWriter::recv_reduce(Region src, Region dst, Rank from, After after) {
  return append(with_peers(local_step(StepKind::kRecvReduce, src, dst), from, kNoRank), after);
}

StepRef LaneWriter::recv_copy_send(Region dst, Rank from, Rank to, After after) {
  return append(with_peers(writing_step(StepKind::kRecvCopySend, dst), from, to), after);
}

StepRef LaneWriter::recv_reduce_send(Region src, Rank from, Rank to, After after) {
  return append(with_peers(reading_step(StepKind::kRecvReduceSend, src), from, to), after);
}

StepRef LaneWriter::recv_reduce_copy_send(Region src, Region dst, Rank from, Rank to, After after) {
  return append(with_peers(local_step(StepKind::kRecvReduceCopySend, src, dst), from, to), after);
}

StepRef LaneWriter::next() const {
  const auto& lanes = builder_->schedule_.ranks[rank_.value].lanes;
  return {lane_, static_cast<uint32_t>(lanes[lane_].steps.size())};
}

StepRef LaneWriter::append(Step step, After after) {
  if (builder_->steps_left_-- == 0) throw std::length_error("a schedule of too many steps");
  RankProgram& program = builder_->schedule_.ranks[rank_.value];
  const StepRef here = next();
  if (!after.refs().empty()) {
    step.first_dep = static_cast<uint32_t>(program.deps.size());
    step.num_deps = static_cast<uint32_t>(after.refs().size());
    program.deps.insert(program.deps.end(), after.refs().begin(), after.refs().end());
  }
  program.lanes[lane_].steps.push_back(step);
  return here;
}

Builder::Builder(const Collective& collective, BuilderOptions options)
    : layout_(layout_of(collective, options.chunks_per_block)), steps_left_(options.max_steps) {
  schedule_.name = std::move(options.name);
  schedule_.collective = collective;
  schedule_.chunks_per_block = options.chunks_per_block;
  schedule_.slots = options.slots;
  schedule_.placement = options.placement;
  schedule_.ranks.resize(collective.num_ranks);
}

LaneWriter Builder::add_lane(Rank rank, uint32_t channel) {
  auto& lanes = schedule_.ranks[rank.value].lanes;
  lanes.push_back({channel, {}});
  return {this, rank, static_cast<uint32_t>(lanes.size() - 1)};
}

uint32_t Builder::add_scratch(Rank rank, ChunkId sized_as) {
  auto& positions = schedule_.ranks[rank.value].scratch;
  positions.push_back(sized_as);
  return static_cast<uint32_t>(positions.size() - 1);
}

Schedule Builder::finish() && {
  for (RankProgram& program : schedule_.ranks) sort_deps(program);
  return std::move(schedule_);
}

}  // namespace tutti::ir
