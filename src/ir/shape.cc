#include "ir/shape.h"

#include <fmt/format.h>

#include "base/try.h"
#include "ir/layout.h"

namespace tutti::ir {
namespace {

class ShapeChecker {
 public:
  ShapeChecker(const Schedule& schedule, const Layout& layout)
      : schedule_(schedule), layout_(layout) {}

  Status check_rank(Rank rank, std::optional<StepPlace>* where) const {
    const RankProgram& program = schedule_.ranks[rank.value];
    for (uint32_t i = 0; i < program.scratch.size(); ++i) {
      const ChunkId chunk = program.scratch[i];
      if (chunk != kAnyChunk && chunk.value >= layout_.num_chunks()) {
        return malformed(fmt::format("rank {}: scratch[{}] is sized as chunk {}, but there are {}",
                                     rank.value, i, chunk.value, layout_.num_chunks()));
      }
    }
    for (uint32_t lane = 0; lane < program.lanes.size(); ++lane) {
      for (uint32_t i = 0; i < program.lanes[lane].steps.size(); ++i) {
        Status status = check_step(rank, {lane, i});
        if (status) continue;
        if (where != nullptr) *where = StepPlace{rank, {lane, i}};
        return status;
      }
    }
    return {};
  }

 private:
  Status check_step(Rank rank, StepRef ref) const {
    const Step& step = schedule_.step(rank, ref);
    const auto fail = [&](std::string_view what) -> Error {
      return malformed(fmt::format("{}: {}", step_name(rank, ref), what));
    };
    if (static_cast<int>(step.kind) >= kNumStepKinds) return fail("unknown kind of step");
    if (step.unused != 0) return fail("its unused byte is not zero");
    if (step.num_chunks == 0 && !is_signal(step)) {
      return fail("a step without chunks can only be a send or a recv");
    }
    TUTTI_TRY(check_region(rank, ref, step.src(), reads_src(step.kind), "src"));
    TUTTI_TRY(check_region(rank, ref, step.dst(), writes_dst(step.kind), "dst"));
    TUTTI_TRY(check_peer(rank, ref, step.recv_peer, receives(step.kind), "receives from"));
    TUTTI_TRY(check_peer(rank, ref, step.send_peer, sends(step.kind), "sends to"));
    return check_deps(rank, ref);
  }

  static bool is_signal(const Step& step) {
    return step.kind == StepKind::kSend || step.kind == StepKind::kRecv;
  }

  uint64_t buffer_length(Rank rank, Buffer buffer) const {
    if (buffer == Buffer::kScratch) return schedule_.ranks[rank.value].scratch.size();
    return layout_.num_chunks(rank, buffer);
  }

  Status check_region(Rank rank, StepRef ref, Region region, bool used, const char* role) const {
    const auto fail = [&](std::string_view what) -> Error {
      return malformed(fmt::format("{}: {} {}", step_name(rank, ref), role, what));
    };
    if (static_cast<int>(region.buffer) >= kNumBuffers) return fail("names no buffer");
    if (!used || region.count == 0) {
      const bool blank = region.buffer == Buffer::kInput && region.index == 0;
      return blank ? Status{} : fail("is given, but this step does not use it");
    }
    const uint64_t length = buffer_length(rank, region.buffer);
    if (uint64_t{region.index} + region.count <= length) return {};
    return fail(fmt::format("{}[{}:{}] lies outside: the buffer has {} chunks",
                            to_string(region.buffer), region.index,
                            uint64_t{region.index} + region.count, length));
  }

  Status check_peer(Rank rank, StepRef ref, Rank peer, bool used, const char* role) const {
    const auto fail = [&](std::string_view what) -> Error {
      return malformed(fmt::format("{}: {}", step_name(rank, ref), what));
    };
    if (!used) return peer == kNoRank ? Status{} : fail("names a peer that it does not use");
    if (peer == rank) return fail(fmt::format("{} itself", role));
    if (peer.value < schedule_.collective.num_ranks) return {};
    return fail(fmt::format("{} rank {}, but there are {} ranks", role, peer.value,
                            schedule_.collective.num_ranks));
  }

  Status check_deps(Rank rank, StepRef ref) const {
    const RankProgram& program = schedule_.ranks[rank.value];
    const Step& step = schedule_.step(rank, ref);
    const auto fail = [&](std::string_view what) -> Error {
      return malformed(fmt::format("{}: {}", step_name(rank, ref), what));
    };
    if (uint64_t{step.first_dep} + step.num_deps > program.deps.size()) {
      return fail("its dependencies lie outside the rank's list");
    }
    for (StepRef dep : program.deps_of(step)) {
      const bool exists =
          dep.lane < program.lanes.size() && dep.step < program.lanes[dep.lane].steps.size();
      if (!exists)
        return fail(
            fmt::format("depends on lane {} step {}, which does not exist", dep.lane, dep.step));
      if (dep == ref) return fail("depends on itself");
    }
    return {};
  }

  static Error malformed(std::string message) {
    return {ErrorCode::kMalformed, std::move(message)};
  }

  const Schedule& schedule_;
  const Layout& layout_;
};

Status check_roots(const Collective& c) {
  const bool stray_root = c.root != 0 && !is_rooted(c.kind);
  const bool stray_peer = c.peer != 0 && c.kind != CollectiveKind::kSendRecv;
  if (!stray_root && !stray_peer) return {};
  return Error{ErrorCode::kMalformed,
               fmt::format("{} has no {}, but {} is given", to_string(c.kind),
                           stray_root ? "root" : "peer", stray_root ? c.root : c.peer)};
}

}  // namespace

std::string step_name(Rank rank, StepRef ref) {
  return fmt::format("rank {} lane {} step {}", rank.value, ref.lane, ref.step);
}

Status check_shape(const Schedule& schedule, std::optional<StepPlace>* where) {
  TUTTI_ASSIGN(const Layout layout, Layout::create(schedule.collective, schedule.chunks_per_block));
  if (schedule.ranks.size() != schedule.collective.num_ranks) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("the schedule is for {} ranks but holds programs for {}",
                             schedule.collective.num_ranks, schedule.ranks.size())};
  }
  TUTTI_TRY(check_roots(schedule.collective));
  const ShapeChecker checker(schedule, layout);
  for (uint32_t r = 0; r < schedule.ranks.size(); ++r)
    TUTTI_TRY(checker.check_rank(Rank{r}, where));
  return {};
}

}  // namespace tutti::ir
