#include <algorithm>

#include "ir/msccl/import.h"
#include "ir/msccl/legalise.h"
#include "ir/shape.h"

namespace tutti::ir::msccl {
namespace {

// The rows of one step: an unfused step has a receiving part and a sending part, each other step
// one of them. Rows that continue a split transfer are counted into the first.
struct Parts {
  std::optional<Row> main;
  std::optional<Row> send;
  Rank recv_peer = kNoRank;
  Rank send_peer = kNoRank;
};

using LaneParts = std::vector<Parts>;

bool add_row(LaneParts& lane, const Block& block, const Row& row, size_t max_steps) {
  if (row.type == RowType::kNop) return true;
  if (row.hint_step < 0 || static_cast<size_t>(row.hint_step) >= max_steps) return false;
  const auto step = static_cast<size_t>(row.hint_step);
  if (lane.size() <= step) lane.resize(step + 1);
  Parts& parts = lane[step];
  std::optional<Row>& part = row.type == RowType::kSend ? parts.send : parts.main;
  if (part) {
    part->count += row.count;
    return true;
  }
  part = row;
  if (receives(step_kind(row.type))) parts.recv_peer = Rank{static_cast<uint32_t>(block.recv)};
  if (sends(step_kind(row.type))) parts.send_peer = Rank{static_cast<uint32_t>(block.send)};
  return true;
}

StepKind kind_of(const Parts& parts, size_t num_scratch) {
  if (!parts.main) return StepKind::kSend;
  if (!parts.send) return step_kind(parts.main->type);
  if (parts.main->type == RowType::kRecv) return StepKind::kRecvCopySend;
  const bool in_spare =
      parts.send->src_buffer == Buffer::kScratch && parts.send->src_offset >= num_scratch;
  return in_spare ? StepKind::kRecvReduceSend : StepKind::kRecvReduceCopySend;
}

Step join(const Parts& parts, size_t num_scratch, RankProgram& program) {
  const Row& row = parts.main ? *parts.main : *parts.send;
  Step step;
  step.kind = kind_of(parts, num_scratch);
  step.num_chunks = row.count;
  step.recv_peer = parts.recv_peer;
  step.send_peer = parts.send_peer;
  if (reads_src(step.kind)) {
    step.src_buffer = row.src_buffer;
    step.src_index = row.src_offset;
  }
  if (writes_dst(step.kind)) {
    step.dst_buffer = row.dst_buffer;
    step.dst_index = row.dst_offset;
  }
  if (!row.hint_after.empty()) {
    step.first_dep = static_cast<uint32_t>(program.deps.size());
    step.num_deps = static_cast<uint32_t>(row.hint_after.size());
    program.deps.insert(program.deps.end(), row.hint_after.begin(), row.hint_after.end());
  }
  return step;
}

std::optional<RankProgram> join_rank(const Gpu& gpu) {
  size_t num_rows = 0;
  for (const Block& block : gpu.blocks) num_rows += block.rows.size();
  RankProgram program;
  program.scratch = gpu.hint_scratch;
  std::vector<LaneParts> lanes;
  for (const Block& block : gpu.blocks) {
    if (block.hint_lane < 0) return std::nullopt;
    const auto lane = static_cast<size_t>(block.hint_lane);
    if (lanes.size() <= lane) lanes.resize(lane + 1);
    if (program.lanes.size() <= lane) program.lanes.resize(lane + 1);
    program.lanes[lane].channel = block.channel;
    for (const Row& row : block.rows) {
      if (!add_row(lanes[lane], block, row, num_rows)) return std::nullopt;
    }
  }
  for (size_t l = 0; l < lanes.size(); ++l) {
    for (const Parts& parts : lanes[l]) {
      if (!parts.main && !parts.send) return std::nullopt;
      program.lanes[l].steps.push_back(join(parts, gpu.hint_scratch.size(), program));
    }
  }
  return program;
}

}  // namespace

std::optional<Schedule> reassemble(const Algo& algo) {
  const auto num_ranks = static_cast<uint32_t>(algo.gpus.size());
  const uint32_t num_blocks = blocks_per_loop(algo.collective, num_ranks);
  if (algo.hint_slots < 0 || algo.chunks_per_loop % num_blocks != 0) return std::nullopt;
  Schedule schedule;
  schedule.name = algo.name;
  schedule.collective = {algo.collective, num_ranks, 0, 0};
  if (algo.hint_root >= 0) schedule.collective.root = static_cast<uint32_t>(algo.hint_root);
  schedule.chunks_per_block = algo.chunks_per_loop / num_blocks;
  schedule.slots = static_cast<uint32_t>(algo.hint_slots);
  schedule.placement = !algo.in_place      ? Placement::kOutOfPlace
                       : algo.out_of_place ? Placement::kEither
                                           : Placement::kInPlace;
  for (const Gpu& gpu : algo.gpus) {
    auto program = join_rank(gpu);
    if (!program) return std::nullopt;
    schedule.ranks.push_back(*std::move(program));
  }
  if (!check_shape(schedule)) return std::nullopt;
  const Result<Algo> again = legalise(schedule);
  if (!again || !(*again == algo)) return std::nullopt;
  return schedule;
}

}  // namespace tutti::ir::msccl
