#include "ir/msccl/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "ir/layout.h"
#include "ir/msccl/waits.h"
#include "ir/shape.h"

namespace tutti::ir::msccl {
namespace {

Error malformed(const Algo& algo, std::string_view what) {
  return {ErrorCode::kMalformed, fmt::format("{}: {}", algo.source, what)};
}

bool any_row(const Gpu& gpu, bool (*does)(StepKind)) {
  for (const Block& block : gpu.blocks) {
    for (const Row& row : block.rows) {
      if (row.type != RowType::kNop && does(step_kind(row.type))) return true;
    }
  }
  return false;
}

// MSCCL files do not name the root. It is the only one with the whole data: with an input (an
// output, for reduce), or else the only one that never receives (never sends).
Result<uint32_t> find_root(const Algo& algo) {
  if (algo.hint_root >= 0) return static_cast<uint32_t>(algo.hint_root);
  const bool broadcast = algo.collective == CollectiveKind::kBroadcast;
  std::vector<uint32_t> by_buffer;
  std::vector<uint32_t> by_rows;
  for (uint32_t g = 0; g < algo.gpus.size(); ++g) {
    const Gpu& gpu = algo.gpus[g];
    if ((broadcast ? gpu.input_chunks : gpu.output_chunks) > 0) by_buffer.push_back(g);
    if (!any_row(gpu, broadcast ? receives : sends)) by_rows.push_back(g);
  }
  if (by_buffer.size() == 1) return by_buffer[0];
  if (by_rows.size() == 1) return by_rows[0];
  return malformed(algo, "cannot tell which gpu is the root; give <algo> a tutti_root");
}

// One gpu's thread blocks as lanes. A row is one step; but a fused row that others wait for, or a
// later row of whose block they do, becomes two: they wait for its data, not for its message. What
// rrs forwards lies in MSCCL's FIFO; here, where there may be none, it gets scratch of its own.
class RankImporter {
 public:
  explicit RankImporter(const Gpu& gpu) : gpu_(gpu) {
    for (const Block& block : gpu.blocks) {
      auto& last = last_step_.emplace_back();
      uint32_t num_steps = 0;
      for (size_t r = 0; r < block.rows.size(); ++r) {
        num_steps += num_steps_of(block, r);
        last.push_back(num_steps == 0 ? 0 : num_steps - 1);
      }
    }
  }

  RankProgram import() const {
    RankProgram program;
    program.scratch.assign(gpu_.scratch_chunks, kAnyChunk);
    for (const Block& block : gpu_.blocks) {
      Lane& lane = program.lanes.emplace_back();
      lane.channel = block.channel;
      const auto first_dep = [&] { return static_cast<uint32_t>(program.deps.size()); };
      uint32_t begin = first_dep();
      for (size_t r = 0; r < block.rows.size(); ++r) {
        const Row& row = block.rows[r];
        if (row.dep_block >= 0) program.deps.push_back(target_of(row));
        if (row.type == RowType::kNop) continue;
        const uint32_t num_deps = first_dep() - begin;
        Step step = make_step(block, row, program.scratch);
        step.num_deps = num_deps;
        step.first_dep = num_deps == 0 ? 0 : begin;
        begin = first_dep();
        if (num_steps_of(block, r) == 1) {
          lane.steps.push_back(step);
        } else {
          unfuse(step, lane.steps);
        }
      }
      program.deps.resize(begin);  // of nops that nothing follows
    }
    return program;
  }

  // The row that a step came from.
  [[nodiscard]] size_t row_of(StepRef ref) const {
    const auto& last = last_step_[ref.lane];
    const auto& rows = gpu_.blocks[ref.lane].rows;
    size_t r =
        static_cast<size_t>(std::lower_bound(last.begin(), last.end(), ref.step) - last.begin());
    while (rows[r].type == RowType::kNop) ++r;
    return r;
  }

 private:
  static uint32_t num_steps_of(const Block& block, size_t r) {
    const Row& row = block.rows[r];
    if (row.type == RowType::kNop) return 0;
    const bool fused =
        row.type == RowType::kRcs || row.type == RowType::kRrs || row.type == RowType::kRrcs;
    if (!fused) return 1;
    const bool awaited = std::any_of(block.rows.begin() + static_cast<std::ptrdiff_t>(r),
                                     block.rows.end(), [](const Row& x) { return x.has_dep; });
    return awaited ? 2 : 1;
  }

  StepRef target_of(const Row& row) const {
    const auto lane = static_cast<uint32_t>(row.dep_block);
    return {lane, last_step_[lane][static_cast<size_t>(row.dep_row)]};
  }

  static Step make_step(const Block& block, const Row& row, std::vector<ChunkId>& sizes) {
    Step step;
    step.kind = step_kind(row.type);
    step.src_buffer = row.src_buffer;
    step.src_index = row.src_offset;
    step.dst_buffer = row.dst_buffer;
    step.dst_index = row.dst_offset;
    step.num_chunks = row.count;
    if (row.type == RowType::kRrs) {
      step.kind = StepKind::kRecvReduceCopySend;
      step.dst_buffer = Buffer::kScratch;
      step.dst_index = static_cast<uint32_t>(sizes.size());
      sizes.insert(sizes.end(), row.count, kAnyChunk);
    }
    if (receives(step.kind)) step.recv_peer = Rank{static_cast<uint32_t>(block.recv)};
    if (sends(step.kind)) step.send_peer = Rank{static_cast<uint32_t>(block.send)};
    return step;
  }

  static void unfuse(Step fused, std::vector<Step>& steps) {
    Step send;
    send.kind = StepKind::kSend;
    send.src_buffer = fused.dst_buffer;
    send.src_index = fused.dst_index;
    send.num_chunks = fused.num_chunks;
    send.send_peer = std::exchange(fused.send_peer, kNoRank);
    fused.kind = fused.kind == StepKind::kRecvCopySend ? StepKind::kRecv : StepKind::kRecvReduce;
    steps.push_back(fused);
    steps.push_back(send);
  }

  const Gpu& gpu_;
  std::vector<std::vector<uint32_t>> last_step_;  // of every row of every block
};

// check_shape's complaint, with the line of the row that the step came from.
Error with_line(const Algo& algo, const Error& error, const std::optional<StepPlace>& where) {
  if (!where) return malformed(algo, error.message);
  const Gpu& gpu = algo.gpus[where->rank.value];
  const Row& row = gpu.blocks[where->ref.lane].rows[RankImporter(gpu).row_of(where->ref)];
  return {error.code, fmt::format("{}:{}: <step>: {}", algo.source, row.line, error.message)};
}

}  // namespace

Result<Schedule> import_plainly(const Algo& algo) {
  const auto num_ranks = static_cast<uint32_t>(algo.gpus.size());
  const uint32_t num_blocks = blocks_per_loop(algo.collective, num_ranks);
  if (algo.chunks_per_loop % num_blocks != 0) {
    return malformed(algo, fmt::format("nchunksperloop {} does not divide by {} gpus",
                                       algo.chunks_per_loop, num_blocks));
  }
  Schedule schedule;
  schedule.name = algo.name;
  schedule.collective = {algo.collective, num_ranks, 0, 0};
  if (is_rooted(algo.collective)) {
    TUTTI_ASSIGN(schedule.collective.root, find_root(algo));
  }
  schedule.chunks_per_block = algo.chunks_per_loop / num_blocks;
  schedule.slots = algo.proto == "Simple" ? 2 : 8;  // legalise.cc says why
  schedule.placement = !algo.in_place      ? Placement::kOutOfPlace
                       : algo.out_of_place ? Placement::kEither
                                           : Placement::kInPlace;
  for (const Gpu& gpu : algo.gpus) schedule.ranks.push_back(RankImporter(gpu).import());
  std::optional<StepPlace> where;
  if (const Status shape = check_shape(schedule, &where); !shape) {
    return with_line(algo, shape.error(), where);
  }
  TUTTI_ASSIGN(const Layout layout, Layout::create(schedule.collective, schedule.chunks_per_block));
  for (uint32_t r = 0; r < num_ranks; ++r) {
    schedule.ranks[r] = translate_waits(schedule, layout, Rank{r});
  }
  return schedule;
}

}  // namespace tutti::ir::msccl
