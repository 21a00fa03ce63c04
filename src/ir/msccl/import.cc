#include "ir/msccl/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/try.h"
#include "ir/layout.h"
#include "ir/msccl/rank_order.h"
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

// One gpu's thread blocks as lanes.
class RankImporter {
 public:
  explicit RankImporter(const Gpu& gpu) : gpu_(gpu) {
    for (const Block& block : gpu.blocks) {
      uint32_t next = 0;
      auto& numbers = step_of_row_.emplace_back();
      for (const Row& row : block.rows) {
        numbers.push_back(next);
        if (row.type != RowType::kNop) ++next;
      }
    }
  }

  RankProgram import() const {
    RankProgram program;
    program.scratch.assign(gpu_.scratch_chunks, kAnyChunk);
    for (const Block& block : gpu_.blocks) {
      Lane lane;
      lane.channel = block.channel;
      std::vector<StepRef> after;
      for (const Row& row : block.rows) {
        if (row.dep_block >= 0) add_dep(row, after);
        if (row.type == RowType::kNop) continue;
        lane.steps.push_back(make_step(block, row, program, after));
        after.clear();
      }
      program.lanes.push_back(std::move(lane));
    }
    return program;
  }

 private:
  void add_dep(const Row& row, std::vector<StepRef>& after) const {
    const auto lane = static_cast<uint32_t>(row.dep_block);
    const StepRef dep{lane, step_of_row_[lane][static_cast<size_t>(row.dep_row)]};
    if (std::find(after.begin(), after.end(), dep) == after.end()) after.push_back(dep);
  }

  static Step make_step(const Block& block, const Row& row, RankProgram& program,
                        const std::vector<StepRef>& after) {
    Step step;
    step.kind = step_kind(row.type);
    step.src_buffer = row.src_buffer;
    step.src_index = row.src_offset;
    step.dst_buffer = row.dst_buffer;
    step.dst_index = row.dst_offset;
    step.num_chunks = row.count;
    if (receives(step.kind)) step.recv_peer = Rank{static_cast<uint32_t>(block.recv)};
    if (sends(step.kind)) step.send_peer = Rank{static_cast<uint32_t>(block.send)};
    step.num_deps = static_cast<uint32_t>(after.size());
    if (!after.empty()) step.first_dep = static_cast<uint32_t>(program.deps.size());
    program.deps.insert(program.deps.end(), after.begin(), after.end());
    return step;
  }

  const Gpu& gpu_;
  std::vector<std::vector<uint32_t>> step_of_row_;  // the step at or after each row of each block
};

// Makes a step that overwrites what an earlier step sent depend on that send.
class OverwriteGuard {
 public:
  OverwriteGuard(const Schedule& schedule, const Layout& layout, Rank rank)
      : schedule_(schedule),
        layout_(layout),
        rank_(rank),
        program_(schedule.ranks[rank.value]),
        order_(program_) {}

  RankProgram guarded() && {
    std::unordered_map<uint64_t, std::vector<StepRef>> lent;  // place -> sends that read it
    std::vector<std::vector<std::vector<StepRef>>> extra(program_.lanes.size());
    for (size_t l = 0; l < extra.size(); ++l) extra[l].resize(program_.lanes[l].steps.size());
    for (StepRef ref : order_.order()) {
      const Step& step = program_.lanes[ref.lane].steps[ref.step];
      if (writes_dst(step.kind)) {
        for (uint32_t i = 0; i < step.num_chunks; ++i) {
          guard(ref, lent[place(step.dst_buffer, step.dst_index + i)], extra[ref.lane][ref.step]);
        }
      }
      if (!sends(step.kind) || step.kind == StepKind::kRecvReduceSend) continue;
      const Region region = step.kind == StepKind::kSend ? step.src() : step.dst();
      for (uint32_t i = 0; i < region.count; ++i) {
        lent[place(region.buffer, region.index + i)].push_back(ref);
      }
    }
    return with_extra(extra);
  }

 private:
  // In place, an input and an output position of the same chunk are the same memory.
  [[nodiscard]] uint64_t place(Buffer buffer, uint32_t index) const {
    const bool shared = schedule_.placement != Placement::kOutOfPlace &&
                        schedule_.collective.kind != CollectiveKind::kAllToAll;
    if (buffer == Buffer::kScratch || !shared) return uint64_t{index} << 2 | uint64_t(buffer);
    return uint64_t{layout_.chunk_at(rank_, buffer, index).value} << 2 | 3;
  }

  void guard(StepRef writer, std::vector<StepRef>& lenders, std::vector<StepRef>& extra) const {
    std::erase_if(lenders, [&](StepRef lender) {
      if (!order_.before(lender, writer)) return false;
      // Messages of one connection are taken in order: the last send of a lane is enough.
      const auto same_lane = std::find_if(extra.begin(), extra.end(),
                                          [&](StepRef other) { return other.lane == lender.lane; });
      if (same_lane == extra.end()) {
        extra.push_back(lender);
      } else {
        same_lane->step = std::max(same_lane->step, lender.step);
      }
      return true;
    });
  }

  RankProgram with_extra(const std::vector<std::vector<std::vector<StepRef>>>& extra) const {
    RankProgram result = program_;
    result.deps.clear();
    for (size_t l = 0; l < result.lanes.size(); ++l) {
      for (size_t s = 0; s < result.lanes[l].steps.size(); ++s) {
        Step& step = result.lanes[l].steps[s];
        const auto old = program_.deps_of(step);
        std::vector<StepRef> deps(old.begin(), old.end());
        for (StepRef dep : extra[l][s]) {
          if (std::find(deps.begin(), deps.end(), dep) == deps.end()) deps.push_back(dep);
        }
        step.num_deps = static_cast<uint32_t>(deps.size());
        step.first_dep = deps.empty() ? 0 : static_cast<uint32_t>(result.deps.size());
        result.deps.insert(result.deps.end(), deps.begin(), deps.end());
      }
    }
    return result;
  }

  const Schedule& schedule_;
  const Layout& layout_;
  const Rank rank_;
  const RankProgram& program_;
  const RankOrder order_;
};

// check_shape's complaint, with the line of the row that the step came from.
Error with_line(const Algo& algo, const Error& error, const std::optional<StepPlace>& where) {
  if (!where) return malformed(algo, error.message);
  uint32_t step = 0;
  for (const Row& row : algo.gpus[where->rank.value].blocks[where->ref.lane].rows) {
    if (row.type == RowType::kNop || step++ != where->ref.step) continue;
    return {error.code, fmt::format("{}:{}: <step>: {}", algo.source, row.line, error.message)};
  }
  return malformed(algo, error.message);
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
    schedule.ranks[r] = OverwriteGuard(schedule, layout, Rank{r}).guarded();
  }
  return schedule;
}

}  // namespace tutti::ir::msccl
