#include "engine/cuda/fusion.h"

#include <algorithm>
#include <optional>

#include "engine/cuda/passes.h"
#include "engine/cuda/rank_steps.h"
#include "engine/cuda/wire.h"
#include "ir/step.h"

namespace tutti::engine::cuda {
namespace {

using ir::Buffer;
using ir::StepKind;

constexpr auto kInputBuffer = static_cast<uint8_t>(Buffer::kInput);
constexpr auto kOutputBuffer = static_cast<uint8_t>(Buffer::kOutput);
constexpr auto kScratchBuffer = static_cast<uint8_t>(Buffer::kScratch);

// Leaves out the steps that do nothing on a GPU, which would cost a look each: sends that are
// implied or pushed, if no other step waits for them.
class Trimmer {
 public:
  explicit Trimmer(FusedProgram& fused) : fused_(fused), steps_(fused.program) {}

  void trim() {
    std::vector<ProgramStep> steps;
    std::vector<StepFusion> fusions;
    std::vector<ProgramLane> lanes;
    std::vector<std::vector<Place>> now(fused_.program.lanes.size());  // of each old step
    for (uint32_t lane = 0; lane < fused_.program.lanes.size(); ++lane) {
      const auto first = static_cast<uint32_t>(steps.size());
      const auto new_lane = static_cast<uint32_t>(lanes.size());
      for (uint32_t step = 0; step < fused_.program.lanes[lane].num_steps; ++step) {
        now[lane].push_back({new_lane, static_cast<uint32_t>(steps.size()) - first});
        if (is_idle({lane, step})) continue;
        steps.push_back(steps_.at({lane, step}));
        fusions.push_back(fused_.fusions[steps_.index({lane, step})]);
      }
      const auto num_steps = static_cast<uint32_t>(steps.size()) - first;
      if (num_steps != 0) lanes.push_back({first, num_steps});
    }
    for (StepFusion& fusion : fusions) {
      if (fusion.is_pushed == 0) continue;
      const Place giver = now[fusion.giver_lane][fusion.giver_step];
      fusion.giver_lane = giver.lane;
      fusion.giver_step = giver.step;
    }
    for (ProgramDep& dep : fused_.program.deps) {
      const Place place = now[dep.lane][dep.step];
      dep.lane = place.lane;
      dep.step = place.step;
    }
    fused_.program.steps = std::move(steps);
    fused_.program.lanes = std::move(lanes);
    fused_.fusions = std::move(fusions);
  }

 private:
  [[nodiscard]] bool is_idle(Place place) const {
    const StepFusion& fusion = fused_.fusions[steps_.index(place)];
    return (fusion.is_implied != 0 || fusion.is_pushed != 0) && !steps_.is_waited_for(place);
  }

  FusedProgram& fused_;
  RankSteps steps_;
};

class Fuser {
 public:
  Fuser(std::vector<FusedProgram>& ranks, uint32_t most_sources)
      : ranks_(ranks), most_sources_(most_sources) {
    for (FusedProgram& rank : ranks) {
      rank.fusions.resize(rank.program.steps.size());
      steps_.emplace_back(rank.program);
    }
  }

  // What is small travels with the first word, which is faster than a push.
  void fuse(bool is_small) {
    for (uint32_t r = 0; r < ranks_.size(); ++r) defer(r);
    if (!is_small && ranks_.size() <= most_sources_) push_all();
    for (uint32_t r = 0; r < ranks_.size(); ++r) leave_out_scratch(r);
    for (uint32_t r = 0; r < ranks_.size(); ++r) imply(r);
    for (uint32_t r = 0; r < ranks_.size(); ++r) add_links(r);
  }

  [[nodiscard]] bool all_is_implied() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const FusedProgram& rank) {
      for (size_t i = 0; i < rank.fusions.size(); ++i) {
        if (rank.program.steps[i].out != kNoLink && rank.fusions[i].is_implied == 0) return false;
      }
      return true;
    });
  }

 private:
  // --- sums ---

  void defer(uint32_t rank) {
    const BoundProgram& program = ranks_[rank].program;
    for (uint32_t lane = 0; lane < program.lanes.size(); ++lane) {
      uint32_t num_sources = 0;
      for (uint32_t step = 0; step + 1 < program.lanes[lane].num_steps; ++step) {
        const Place here{lane, step};
        num_sources += sources_of(steps_[rank].at(here), num_sources == 0);
        const bool fits = num_sources + 1 <= most_sources_;
        if (fits && is_deferrable(rank, here)) {
          fusion(rank, here).is_deferred = 1;
        } else {
          num_sources = 0;
        }
      }
    }
  }

  // What a step adds to a sum: one source, or all it reads if the sum begins with it.
  static uint32_t sources_of(const ProgramStep& step, bool is_first) {
    if (!is_first) return 1;
    const StepKind kind = step_kind(step);
    return (step.in != kNoLink ? 1 : 0) + (ir::reads_src(kind) ? 1 : 0) +
           (kind == StepKind::kReduce ? 1 : 0);
  }

  [[nodiscard]] bool is_deferrable(uint32_t rank, Place first) const {
    const RankSteps& steps = steps_[rank];
    const Place second{first.lane, first.step + 1};
    const ProgramStep& a = steps.at(first);
    const ProgramStep& b = steps.at(second);
    const bool writes = ir::writes_dst(step_kind(a)) && a.out == kNoLink && a.num_pieces != 0;
    if (!writes || steps.is_waited_for(first) || a.num_pieces != b.num_pieces) return false;
    const bool is_recv_sum = step_kind(b) == StepKind::kRecvReduce;
    if (!is_recv_sum && step_kind(b) != StepKind::kReduce) return false;
    if (b.dst_buffer != a.dst_buffer || (is_recv_sum && b.src_buffer != b.dst_buffer)) return false;
    const BoundProgram& program = ranks_[rank].program;
    for (uint32_t i = 0; i < a.num_pieces; ++i) {
      const Piece& pa = program.pieces[a.first_piece + i];
      const Piece& pb = program.pieces[b.first_piece + i];
      if (pa.dst != pb.dst || pa.bytes != pb.bytes) return false;
      if (is_recv_sum && pb.src != pb.dst) return false;
    }
    return true;
  }

  // --- results ---

  struct Gift {
    uint32_t giver;
    Place made;  // the step that writes
    Place sent;
    uint32_t receiver;
    Place received;
  };

  // All or none: if some ranks pushed and others did not, those would do the others' work.
  void push_all() {
    std::vector<Gift> gifts;
    for (uint32_t r = 0; r < ranks_.size(); ++r) {
      const size_t before = gifts.size();
      steps_[r].for_each([&](Place sent) { find_gift(r, sent, gifts); });
      if (gifts.size() - before != num_gifts_wanted(r)) return;
    }
    // Who is given something does not move it, so it has nothing at hand to give on.
    for (const Gift& gift : gifts) {
      for (const Gift& other : gifts) {
        if (other.receiver == gift.giver && other.received == gift.made) return;
      }
    }
    for (const Gift& gift : gifts) give(gift);
  }

  // Of a rank that does its share: it gives one chunk to whoever has it as output.
  [[nodiscard]] size_t num_gifts_wanted(uint32_t rank) const {
    const Collective& collective = ranks_[rank].program.collective;
    switch (collective.kind) {
      case CollectiveKind::kAllReduce:
      case CollectiveKind::kBroadcast:
      case CollectiveKind::kAllGather: return ranks_.size() - 1;
      case CollectiveKind::kReduce: return rank == collective.root ? 0 : 1;
      case CollectiveKind::kReduceScatter:
      case CollectiveKind::kAllToAll:
      case CollectiveKind::kGather:
      case CollectiveKind::kScatter:
      case CollectiveKind::kBarrier:
      case CollectiveKind::kSendRecv: break;
    }
    return 0;
  }

  void find_gift(uint32_t rank, Place sent, std::vector<Gift>& gifts) const {
    const ProgramStep& send = steps_[rank].at(sent);
    if (step_kind(send) != StepKind::kSend || send.out_bytes == 0) return;
    const uint32_t receiver = receiver_of(rank, send);
    const auto received = taker_of(rank, send);
    if (!received || !is_plain_output(receiver, *received)) return;
    bool done = false;
    steps_[rank].for_each([&](Place made) {
      if (done || !makes(rank, made, sent)) return;
      const Gift gift{rank, made, sent, receiver, *received};
      if (!is_safe(gift)) return;
      gifts.push_back(gift);
      done = true;
    });
  }

  [[nodiscard]] uint32_t receiver_of(uint32_t rank, const ProgramStep& send) const {
    const BoundProgram& program = ranks_[rank].program;
    return program.peers[program.outs[send.out].peer].value;
  }

  [[nodiscard]] std::optional<Place> taker_of(uint32_t rank, const ProgramStep& send) const {
    const uint32_t receiver = receiver_of(rank, send);
    const auto in = static_cast<uint16_t>(ranks_[rank].program.outs[send.out].number_there);
    std::optional<Place> found;
    steps_[receiver].for_each([&](Place place) {
      const ProgramStep& step = steps_[receiver].at(place);
      if (step.in == in && step.in_number == send.out_number) found = place;
    });
    return found;
  }

  // A step that receives one piece into the output and waits for nothing else.
  [[nodiscard]] bool is_plain_output(uint32_t rank, Place place) const {
    const ProgramStep& step = steps_[rank].at(place);
    return step_kind(step) == StepKind::kRecv && step.dst_buffer == kOutputBuffer &&
           step.num_pieces == 1 && step.num_deps == 0;
  }

  // Whether `made` has at hand what `sent` sends: it writes it, or copies it, and can do both.
  [[nodiscard]] bool makes(uint32_t rank, Place made, Place sent) const {
    const RankSteps& steps = steps_[rank];
    const ProgramStep& maker = steps.at(made);
    const ProgramStep& send = steps.at(sent);
    if (maker.num_pieces != 1 || maker.out != kNoLink || !ir::writes_dst(step_kind(maker)) ||
        ranks_[rank].fusions[steps.index(made)].is_deferred != 0) {
      return false;
    }
    const bool is_only_wait = send.num_deps == 1 && steps.waits_for(sent, made);
    if (is_only_wait && steps.written(made) == steps.sent(sent)) return true;
    const bool is_free = send.num_deps == 0 && sent.step == 0;
    return is_free && step_kind(maker) == StepKind::kCopy && maker.num_deps == 0 &&
           made.step == 0 && steps.read(made) == steps.sent(sent);
  }

  [[nodiscard]] bool is_safe(const Gift& gift) const {
    const RankSteps& there = steps_[gift.receiver];
    const Span target = there.written(gift.received);
    bool is_free = true;
    there.for_each([&](Place other) {
      const bool follows = (other.lane == gift.received.lane && other.step >= gift.received.step) ||
                           there.waits_for(other, gift.received);
      if (follows) return;
      const ProgramStep& step = there.at(other);
      const StepKind kind = step_kind(step);
      const bool touches =
          (ir::writes_dst(kind) && there.written(other).overlaps(target)) ||
          (ir::reads_src(kind) && there.read(other).overlaps(target)) ||
          (ir::sends(kind) && there.sent(other).overlaps(target)) ||
          (ir::reads_src(kind) && !ir::sends(kind) && beneath(gift, there.read(other))) ||
          (kind == StepKind::kSend && beneath(gift, there.sent(other)) &&
           !is_read_by_gift(gift, step));
      is_free = is_free && !touches;
    });
    return is_free;
  }

  // Whether these bytes of the receiver's input lie, in place, where the gift goes.
  [[nodiscard]] bool beneath(const Gift& gift, const Span& input) const {
    if (input.buffer != kInputBuffer) return false;
    const BoundProgram& program = ranks_[gift.receiver].program;
    uint64_t begin = 0;
    if (program.collective.kind == CollectiveKind::kAllGather) {
      for (uint32_t r = 0; r < gift.receiver; ++r) begin += ranks_[r].program.input_bytes;
    }
    const Span aliased{kOutputBuffer, begin + input.at, input.bytes};
    return aliased.overlaps(steps_[gift.receiver].written(gift.received));
  }

  // Whether the message goes to the giver, which takes it in the sum that it gives.
  [[nodiscard]] bool is_read_by_gift(const Gift& gift, const ProgramStep& send) const {
    if (receiver_of(gift.receiver, send) != gift.giver) return false;
    const auto taken = taker_of(gift.receiver, send);
    if (!taken || taken->lane != gift.made.lane || taken->step > gift.made.step) return false;
    for (uint32_t step = taken->step; step < gift.made.step; ++step) {
      const uint32_t index = steps_[gift.giver].index({taken->lane, step});
      if (ranks_[gift.giver].fusions[index].is_deferred == 0) return false;
    }
    return true;
  }

  void give(const Gift& gift) {
    FusedProgram& giver = ranks_[gift.giver];
    StepFusion& sent = fusion(gift.giver, gift.sent);
    sent.is_pushed = 1;
    sent.giver_lane = gift.made.lane;
    sent.giver_step = gift.made.step;
    fusion(gift.receiver, gift.received).is_given = 1;
    const ProgramStep& send = steps_[gift.giver].at(gift.sent);
    const Push push{steps_[gift.receiver].written(gift.received).at,
                    giver.program.outs[send.out].peer, send.out, send.out_number, 0};
    // Pushes of one step lie together: those of the step after it move back.
    StepFusion& made = fusion(gift.giver, gift.made);
    if (made.num_pushes == 0) made.first_push = static_cast<uint32_t>(giver.pushes.size());
    const uint32_t at = made.first_push + made.num_pushes++;
    giver.pushes.insert(giver.pushes.begin() + at, push);
    for (StepFusion& other : giver.fusions) {
      if (&other != &made && other.num_pushes != 0 && other.first_push >= at) ++other.first_push;
    }
  }

  // --- scratch ---

  // Sums that are pushed need not be kept; and a rank that keeps nothing needs no scratch.
  void leave_out_scratch(uint32_t rank) {
    const RankSteps& steps = steps_[rank];
    bool is_used = false;
    steps.for_each([&](Place place) {
      StepFusion& here = fusion(rank, place);
      here.is_unkept = here.num_pushes != 0 && is_unread(rank, place) ? 1 : 0;
      is_used = is_used || uses_scratch(rank, place);
    });
    if (!is_used) ranks_[rank].program.scratch_bytes = 0;
  }

  // Whether a step writes to scratch what no other reads, but sends of what was pushed. Steps
  // before it in its lane read what was there before it.
  [[nodiscard]] bool is_unread(uint32_t rank, Place made) const {
    const RankSteps& steps = steps_[rank];
    const Span written = steps.written(made);
    bool is_read = written.buffer != kScratchBuffer;
    steps.for_each([&](Place other) {
      const bool is_before = other.lane == made.lane && other.step <= made.step;
      if (is_before || fusion(rank, other).is_pushed != 0) return;
      const StepKind kind = step_kind(steps.at(other));
      is_read = is_read || (ir::reads_src(kind) && steps.read(other).overlaps(written)) ||
                (ir::sends(kind) && steps.sent(other).overlaps(written)) ||
                (kind == StepKind::kReduce && steps.written(other).overlaps(written));
    });
    return !is_read;
  }

  [[nodiscard]] bool uses_scratch(uint32_t rank, Place place) const {
    const ProgramStep& step = steps_[rank].at(place);
    const StepFusion& here = fusion(rank, place);
    const StepKind kind = step_kind(step);
    if (here.is_pushed != 0) return false;
    if (ir::sends(kind) && step.out_buffer == kScratchBuffer) return true;
    const bool follows_deferred =
        place.step != 0 && fusion(rank, {place.lane, place.step - 1}).is_deferred != 0;
    const bool reads_sum = kind == StepKind::kReduce && !follows_deferred;
    const bool reads_own = kind == StepKind::kReduce || (ir::reads_src(kind) && !follows_deferred);
    const bool writes = ir::writes_dst(kind) && here.is_deferred == 0 && here.is_unkept == 0;
    return (reads_own && step.src_buffer == kScratchBuffer) ||
           ((reads_sum || writes) && step.dst_buffer == kScratchBuffer);
  }

  // --- input ---

  void imply(uint32_t rank) {
    const BoundProgram& program = ranks_[rank].program;
    for (uint32_t lane = 0; lane < program.lanes.size(); ++lane) {
      for (uint32_t step = 0; step < program.lanes[lane].num_steps; ++step) {
        const ProgramStep& it = steps_[rank].at({lane, step});
        StepFusion& here = fusion(rank, {lane, step});
        const bool is_input = step_kind(it) == StepKind::kSend && it.num_deps == 0 &&
                              (it.out_buffer == kInputBuffer || it.out_bytes == 0);
        if (!is_input || here.is_pushed != 0) break;
        here.is_implied = 1;
      }
    }
  }

  void add_links(uint32_t rank) {
    FusedProgram& fused = ranks_[rank];
    for (const Link& link : fused.program.ins)
      fused.ins.push_back({link.peer, link.word_there, 0, 0});
    for (const Link& link : fused.program.outs) {
      fused.outs.push_back({link.peer, link.word_there, 0, 0});
    }
    steps_[rank].for_each([&](Place place) {
      const ProgramStep& step = steps_[rank].at(place);
      if (step.out == kNoLink || fused.fusions[steps_[rank].index(place)].is_pushed != 0) return;
      uint32_t& owed = fused.outs[step.out].owed;
      owed = std::max(owed, step.out_number + 1);
    });
    for (DeviceLink& in : fused.ins) {
      const auto number = static_cast<size_t>(&in - fused.ins.data());
      in.implied = count_implied(rank, fused.program.ins[number]);
    }
  }

  // Messages at the beginning of a link, as its sender marked them.
  [[nodiscard]] uint32_t count_implied(uint32_t rank, const Link& link) const {
    const uint32_t sender = ranks_[rank].program.peers[link.peer].value;
    std::vector<bool> marks(link.num_messages);
    steps_[sender].for_each([&](Place place) {
      const ProgramStep& step = steps_[sender].at(place);
      if (step.out != link.number_there) return;
      marks[step.out_number] = ranks_[sender].fusions[steps_[sender].index(place)].is_implied != 0;
    });
    const auto first = std::find(marks.begin(), marks.end(), false);
    return static_cast<uint32_t>(first - marks.begin());
  }

  [[nodiscard]] StepFusion& fusion(uint32_t rank, Place place) const {
    return ranks_[rank].fusions[steps_[rank].index(place)];
  }

  std::vector<FusedProgram>& ranks_;
  std::vector<RankSteps> steps_;
  uint32_t most_sources_;
};

// Whether a block of each rank does better alone than after it has called others: that takes the
// longer the more ranks do it (bench/results/cuda.md).
bool are_for_one_block(const std::vector<FusedProgram>& ranks) {
  const uint64_t most = (uint64_t{1} << 20) + ranks.size() * (uint64_t{128} << 10);
  return std::all_of(ranks.begin(), ranks.end(), [most](const FusedProgram& rank) {
    const auto passes = passes_of(rank);
    return passes && traffic_of(*passes) <= most;
  });
}

}  // namespace

std::vector<FusedProgram> fuse(const verify::VerifiedSchedule& schedule, const ir::Sizes& sizes,
                               uint32_t elem_bytes, uint32_t most_sources) {
  std::vector<FusedProgram> ranks(schedule.schedule().ranks.size());
  uint64_t largest_chunk = 0;
  uint64_t largest_input = 0;
  for (uint32_t r = 0; r < ranks.size(); ++r) {
    ranks[r].program = bind(schedule, Rank{r}, sizes, elem_bytes, Pieces::kChunks);
    for (const Piece& piece : ranks[r].program.pieces) {
      largest_chunk = std::max(largest_chunk, piece.bytes);
    }
    largest_input = std::max(largest_input, ranks[r].program.input_bytes);
  }
  Fuser fuser(ranks, most_sources);
  const bool is_small = largest_input <= kInlineBytes;
  fuser.fuse(is_small);
  const bool is_inline = is_small && fuser.all_is_implied();
  for (FusedProgram& rank : ranks) {
    rank.largest_chunk = largest_chunk;
    rank.is_inline = is_inline;
    Trimmer(rank).trim();
  }
  const bool is_narrow = !is_inline && are_for_one_block(ranks);
  for (FusedProgram& rank : ranks) rank.is_narrow = is_narrow;
  return ranks;
}

}  // namespace tutti::engine::cuda
