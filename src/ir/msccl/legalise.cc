#include "ir/msccl/legalise.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/try.h"
#include "ir/layout.h"
#include "ir/msccl/pairing.h"
#include "ir/shape.h"

namespace tutti::ir::msccl {
namespace {

// NCCL's FIFO has 8 places. Simple cuts a message into 4 of them, so it holds 2 messages; LL and
// LL128 hold 8. A place of Simple has 512 KiB, of LL 32 KiB of data, with NCCL's default buffers.
constexpr uint32_t kSimpleSlots = 2;
constexpr uint32_t kLowLatencySlots = 8;
constexpr uint64_t kSimpleBytes = uint64_t{2} << 20;
constexpr uint64_t kLowLatencyBytes = uint64_t{32} << 10;
// MSCCL allocates scratch for maxBytes when it loads the file, and 128 MiB is its own default.
constexpr uint64_t kMaxBytes = uint64_t{1} << 32;
constexpr uint64_t kMaxBytesWithScratch = uint64_t{1} << 27;

// A row of a block, before nops are counted.
struct RowRef {
  uint32_t block = 0;
  uint32_t row = 0;
};

// One rank's lanes as blocks of rows, each row with all the rows it waits for.
class RankLegaliser {
 public:
  explicit RankLegaliser(const RankProgram& program)
      : program_(program), scratch_end_(static_cast<uint32_t>(program.scratch.size())) {}

  Gpu legalise() && {
    for (uint32_t l = 0; l < program_.lanes.size(); ++l) place_lane(l);
    for (uint32_t l = 0; l < program_.lanes.size(); ++l) add_dependencies(l);
    Gpu gpu;
    gpu.scratch_chunks = scratch_end_;
    gpu.hint_scratch = program_.scratch;
    gpu.blocks = std::move(blocks_);
    for (uint32_t b = 0; b < gpu.blocks.size(); ++b) reduce_waits(b);
    write_waits(gpu.blocks);
    return gpu;
  }

 private:
  using Waits = std::vector<RowRef>;
  // Where a step's rows begin and end; both lie in one block but for an unfused step.
  struct Placed {
    RowRef first;
    RowRef last;
  };

  void place_lane(uint32_t l) {
    const Lane& lane = program_.lanes[l];
    const auto first_block = static_cast<uint32_t>(blocks_.size());
    std::map<int32_t, uint32_t> sender;
    std::map<int32_t, uint32_t> receiver;
    for (PeerPair pair : pair_peers(lane)) {
      const auto b = static_cast<uint32_t>(blocks_.size());
      if (pair.send >= 0) sender[pair.send] = b;
      if (pair.recv >= 0) receiver[pair.recv] = b;
      blocks_.push_back({pair.send, pair.recv, lane.channel, static_cast<int32_t>(l), {}, 0});
      waits_.emplace_back();
    }
    auto& placed = placed_.emplace_back();
    const uint32_t spare = reserve_spare(lane, sender, receiver);
    uint32_t block = first_block;
    for (uint32_t s = 0; s < lane.steps.size(); ++s) {
      const Step& step = lane.steps[s];
      const auto hint = static_cast<int32_t>(s);
      if (receives(step.kind)) block = receiver[static_cast<int32_t>(step.recv_peer.value)];
      if (!sends(step.kind)) {
        placed.push_back(add_rows(block, row_of(step, row_type(step.kind), hint)));
        continue;
      }
      const uint32_t send_block = sender[static_cast<int32_t>(step.send_peer.value)];
      if (!receives(step.kind) || block == send_block) {
        placed.push_back(add_rows(send_block, row_of(step, row_type(step.kind), hint)));
      } else {
        placed.push_back(add_unfused(block, send_block, step, hint, spare));
      }
      block = send_block;
    }
  }

  // Scratch for the sums of this lane's unfused recv_reduce_sends, one after the other.
  uint32_t reserve_spare(const Lane& lane, std::map<int32_t, uint32_t>& sender,
                         std::map<int32_t, uint32_t>& receiver) {
    uint32_t size = 0;
    for (const Step& step : lane.steps) {
      if (step.kind != StepKind::kRecvReduceSend) continue;
      const bool whole = sender[static_cast<int32_t>(step.send_peer.value)] ==
                         receiver[static_cast<int32_t>(step.recv_peer.value)];
      if (!whole) size = std::max(size, step.num_chunks);
    }
    return std::exchange(scratch_end_, scratch_end_ + size);
  }

  static Row row_of(const Step& step, RowType type, int32_t hint) {
    Row row;
    row.type = type;
    row.src_buffer = step.src_buffer;
    row.src_offset = step.src_index;
    row.dst_buffer = step.dst_buffer;
    row.dst_offset = step.dst_index;
    row.count = step.num_chunks;
    row.hint_step = hint;
    return row;
  }

  Placed add_unfused(uint32_t recv_block, uint32_t send_block, const Step& step, int32_t hint,
                     uint32_t spare) {
    const bool copies = step.kind == StepKind::kRecvCopySend;
    Row recv = row_of(step, copies ? RowType::kRecv : RowType::kRrc, hint);
    if (step.kind == StepKind::kRecvReduceSend) {
      recv.dst_buffer = Buffer::kScratch;
      recv.dst_offset = spare;
    }
    Row send = row_of(step, RowType::kSend, hint);
    send.src_buffer = recv.dst_buffer;
    send.src_offset = recv.dst_offset;
    send.dst_buffer = Buffer::kInput;
    send.dst_offset = 0;
    const Placed received = add_rows(recv_block, recv);
    const Placed sent = add_rows(send_block, send);
    waits_[sent.first.block][sent.first.row].push_back(received.last);
    return {received.first, sent.last};
  }

  // A transfer of more chunks than MSCCL takes is several; both ends cut it alike.
  Placed add_rows(uint32_t block, Row row) {
    auto& rows = blocks_[block].rows;
    const RowRef first{block, static_cast<uint32_t>(rows.size())};
    const bool has_src = reads_src(step_kind(row.type));
    const bool has_dst = writes_dst(step_kind(row.type));
    for (uint32_t left = row.count; left > 0;) {
      row.count = std::min(left, kMaxCount);
      left -= row.count;
      rows.push_back(row);
      waits_[block].emplace_back();
      row.src_offset += has_src ? row.count : 0;
      row.dst_offset += has_dst ? row.count : 0;
    }
    return {first, {block, static_cast<uint32_t>(rows.size()) - 1}};
  }

  void add_dependencies(uint32_t l) {
    const Lane& lane = program_.lanes[l];
    for (uint32_t s = 0; s < lane.steps.size(); ++s) {
      const RowRef here = placed_[l][s].first;
      auto& waits = waits_[here.block][here.row];
      if (s > 0) waits.push_back(placed_[l][s - 1].last);
      const auto deps = program_.deps_of(lane.steps[s]);
      for (StepRef dep : deps) waits.push_back(placed_[dep.lane][dep.step].last);
      blocks_[here.block].rows[here.row].hint_after.assign(deps.begin(), deps.end());
    }
  }

  // Flags only grow, so of several waits for one block the latest row is enough, and what the block
  // has waited for before needs no second wait; nor do earlier rows of the block itself.
  void reduce_waits(uint32_t b) {
    std::map<uint32_t, uint32_t> known;  // block -> rows of it that are surely done
    for (uint32_t r = 0; r < waits_[b].size(); ++r) {
      std::map<uint32_t, uint32_t> latest;
      for (RowRef wait : waits_[b][r]) {
        if (wait.block == b && wait.row < r) continue;
        uint32_t& row = latest[wait.block];
        row = std::max(row, wait.row + 1);
      }
      waits_[b][r].clear();
      for (const auto& [block, end] : latest) {
        if (end <= known[block]) continue;
        known[block] = end;
        waits_[b][r].push_back({block, end - 1});
      }
    }
  }

  // Gives every row its final number (nops in front of it count) and writes the waits as numbers.
  void write_waits(std::vector<Block>& blocks) const {
    std::vector<std::vector<int32_t>> number(blocks.size());
    for (uint32_t b = 0; b < blocks.size(); ++b) {
      int32_t next = 0;
      for (const Waits& waits : waits_[b]) {
        next += std::max<int32_t>(1, static_cast<int32_t>(waits.size()));
        number[b].push_back(next - 1);
      }
    }
    for (uint32_t b = 0; b < blocks.size(); ++b) {
      for (const Waits& waits : waits_[b]) {
        for (RowRef wait : waits) blocks[wait.block].rows[wait.row].has_dep = true;
      }
    }
    for (uint32_t b = 0; b < blocks.size(); ++b) {
      std::vector<Row> rows;
      for (uint32_t r = 0; r < blocks[b].rows.size(); ++r) {
        Row& row = blocks[b].rows[r];
        for (RowRef wait : waits_[b][r]) {
          if (row.dep_block >= 0) {
            Row nop;
            nop.dep_block = row.dep_block;
            nop.dep_row = row.dep_row;
            rows.push_back(std::move(nop));
          }
          row.dep_block = static_cast<int32_t>(wait.block);
          row.dep_row = number[wait.block][wait.row];
        }
        rows.push_back(std::move(row));
      }
      keep_reductions_apart(rows);
      blocks[b].rows = std::move(rows);
    }
  }

  // MSCCL joins local reductions that follow one another into the same place, whatever their
  // counts, and more than 16 overrun its table. One that is waited for ends such a chain.
  static void keep_reductions_apart(std::vector<Row>& rows) {
    for (size_t r = 0; r + 1 < rows.size(); ++r) {
      const bool joined = rows[r].type == RowType::kReduce && rows[r + 1].type == RowType::kReduce;
      if (joined) rows[r].has_dep = true;
    }
  }

  const RankProgram& program_;
  uint32_t scratch_end_;
  std::vector<Block> blocks_;
  std::vector<std::vector<Waits>> waits_;    // of every row of every block
  std::vector<std::vector<Placed>> placed_;  // of every step of every lane
};

Status check_sayable(const Schedule& schedule) {
  const auto unsupported = [](std::string what) {
    return Error{ErrorCode::kUnsupported, std::move(what)};
  };
  if (collective_name(schedule.collective.kind).empty()) {
    return unsupported(
        fmt::format("MSCCL has no {}; its collectives are allreduce, reduce, "
                    "broadcast, allgather, reduce_scatter and alltoall",
                    to_string(schedule.collective.kind)));
  }
  if (schedule.slots == 0) {
    return unsupported("MSCCL sends through slots, but this schedule was planned for none");
  }
  if (schedule.name.find_first_of("\"'<>&\n\r\t") != std::string::npos) {
    return unsupported("MSCCL reads no escapes: the name must be without quotes, <, > and &");
  }
  if (schedule.name.size() > kMaxNameLength) {
    return unsupported(fmt::format("the name has {} characters, at most {} that MSCCL keeps",
                                   schedule.name.size(), kMaxNameLength));
  }
  for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
    const auto& lanes = schedule.ranks[r].lanes;
    for (uint32_t l = 0; l < lanes.size(); ++l) {
      for (uint32_t s = 0; s < lanes[l].steps.size(); ++s) {
        if (lanes[l].steps[s].num_chunks > 0) continue;
        return unsupported(
            fmt::format("{}: MSCCL has no messages without data", step_name(Rank{r}, {l, s})));
      }
    }
  }
  return {};
}

// The protocol whose FIFO holds the schedule's slots, and the size up to which one transfer takes
// one place in it.
Status choose_protocol(const Schedule& schedule, Algo& algo) {
  uint32_t most_chunks = 1;
  for (const RankProgram& program : schedule.ranks) {
    for (const Lane& lane : program.lanes) {
      for (const Step& step : lane.steps) most_chunks = std::max(most_chunks, step.num_chunks);
    }
  }
  const uint64_t places = uint64_t{schedule.slots} * ((most_chunks + kMaxCount - 1) / kMaxCount);
  if (places > kLowLatencySlots) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("the schedule counts on {} transfers in flight on a connection; MSCCL "
                             "holds 2 (Simple) or 8 (LL): plan with fewer slots or chunks",
                             places)};
  }
  const bool simple = places <= kSimpleSlots;
  algo.proto = simple ? "Simple" : "LL";
  const bool has_scratch = std::any_of(algo.gpus.begin(), algo.gpus.end(),
                                       [](const Gpu& gpu) { return gpu.scratch_chunks > 0; });
  algo.max_bytes = has_scratch ? kMaxBytesWithScratch : kMaxBytes;
  if (most_chunks == 1) return {};  // MSCCL cuts single chunks into pieces that fit, in its loop
  const uint64_t place_bytes = simple ? kSimpleBytes : kLowLatencyBytes;
  const uint64_t fitting = place_bytes / std::min(most_chunks, kMaxCount) * algo.chunks_per_loop;
  algo.max_bytes = std::min(algo.max_bytes, fitting);
  return {};
}

}  // namespace

Result<Algo> legalise(const Schedule& schedule) {
  TUTTI_TRY(check_sayable(schedule));
  TUTTI_ASSIGN(const Layout layout, Layout::create(schedule.collective, schedule.chunks_per_block));
  const Collective& collective = schedule.collective;
  Algo algo;
  algo.name = schedule.name;
  algo.collective = collective.kind;
  algo.chunks_per_loop =
      schedule.chunks_per_block * blocks_per_loop(collective.kind, collective.num_ranks);
  algo.in_place = schedule.placement != Placement::kOutOfPlace;
  algo.out_of_place = schedule.placement != Placement::kInPlace;
  algo.hint_slots = static_cast<int32_t>(schedule.slots);
  if (is_rooted(collective.kind)) algo.hint_root = static_cast<int32_t>(collective.root);
  for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
    Gpu gpu = RankLegaliser(schedule.ranks[r]).legalise();
    gpu.input_chunks = layout.num_chunks(Rank{r}, Buffer::kInput);
    gpu.output_chunks = layout.num_chunks(Rank{r}, Buffer::kOutput);
    for (const Block& block : gpu.blocks) {
      algo.num_channels = std::max(algo.num_channels, block.channel + 1);
    }
    algo.gpus.push_back(std::move(gpu));
  }
  TUTTI_TRY(choose_protocol(schedule, algo));
  TUTTI_TRY(check_limits(algo));
  return algo;
}

}  // namespace tutti::ir::msccl
