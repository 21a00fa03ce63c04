#include "ir/msccl/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/try.h"
#include "ir/layout.h"
#include "ir/matching.h"
#include "ir/msccl/landing.h"
#include "ir/msccl/plan_block_writer.h"
#include "ir/shape.h"

namespace tutti::ir::msccl {
namespace {

// A lane that has waited for step n of another lane has waited for all before; so between two lanes
// one semaphore that counts is enough, released and acquired in the same order.
struct Semaphores {
  // For every lane and step: what to acquire before it and to release after it.
  std::vector<std::vector<std::vector<uint32_t>>> acquires;
  std::vector<std::vector<std::vector<uint32_t>>> releases;
  uint32_t count = 0;
};

Result<Semaphores> assign_semaphores(const RankProgram& program, Rank rank) {
  Semaphores result;
  for (const Lane& lane : program.lanes) {
    result.acquires.emplace_back(lane.steps.size());
    result.releases.emplace_back(lane.steps.size());
  }
  for (uint32_t l = 0; l < program.lanes.size(); ++l) {
    std::map<uint32_t, uint32_t> waited;     // lane -> its steps that were waited for
    std::map<uint32_t, uint32_t> semaphore;  // lane -> the semaphore it releases for this lane
    for (uint32_t s = 0; s < program.lanes[l].steps.size(); ++s) {
      std::map<uint32_t, uint32_t> latest;
      for (StepRef dep : program.deps_of(program.lanes[l].steps[s])) {
        latest[dep.lane] = std::max(latest[dep.lane], dep.step + 1);
      }
      if (latest.contains(l) && latest[l] > s) {
        return Error{ErrorCode::kMalformed, fmt::format("{} waits for a later step of its own lane",
                                                        step_name(rank, {l, s}))};
      }
      for (const auto& [lane, end] : latest) {
        if (lane == l || end <= waited[lane]) continue;
        waited[lane] = end;
        const auto [entry, is_new] = semaphore.try_emplace(lane, result.count);
        result.count += is_new ? 1 : 0;
        result.acquires[l][s].push_back(entry->second);
        result.releases[lane][end - 1].push_back(entry->second);
      }
    }
  }
  return result;
}

// All that one rank needs to know of the others: where its messages land and which channel is
// which connection.
class PlanMaker {
 public:
  PlanMaker(const Schedule& schedule, const Layout& layout)
      : schedule_(schedule), numbering_(schedule) {
    for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
      landings_.push_back(choose_landing(schedule, layout, Rank{r}));
    }
  }

  Result<std::vector<PlanRank>> make() && {
    TUTTI_ASSIGN(matching_, match_messages(schedule_, numbering_));
    std::vector<PlanRank> ranks;
    for (uint32_t r = 0; r < schedule_.ranks.size(); ++r) {
      TUTTI_ASSIGN(PlanRank rank, make_rank(Rank{r}));
      ranks.push_back(std::move(rank));
    }
    return ranks;
  }

 private:
  // A connection as both its ends order those they share: by sender, then by channel.
  struct Connection {
    uint32_t peer = 0;
    uint32_t sender = 0;
    uint32_t channel = 0;

    friend auto operator<=>(const Connection&, const Connection&) = default;
  };
  using Channels = std::map<Connection, Channel>;

  Channels number_channels(Rank rank, PlanRank& plan) const {
    Channels channels;
    for (const Lane& lane : schedule_.ranks[rank.value].lanes) {
      for (const Step& step : lane.steps) {
        if (sends(step.kind)) channels[{step.send_peer.value, rank.value, lane.channel}] = 0;
        if (receives(step.kind)) {
          channels[{step.recv_peer.value, step.recv_peer.value, lane.channel}] = 0;
        }
      }
    }
    for (auto& [connection, channel] : channels) {
      channel = static_cast<Channel>(plan.channel_peers.size());
      plan.channel_peers.push_back(connection.peer);
    }
    return channels;
  }

  Result<PlanRank> make_rank(Rank rank) const {
    const RankProgram& program = schedule_.ranks[rank.value];
    PlanRank plan;
    plan.num_scratch = landings_[rank.value].num_scratch;
    const Channels channels = number_channels(rank, plan);
    TUTTI_ASSIGN(const Semaphores semaphores, assign_semaphores(program, rank));
    plan.num_semaphores = semaphores.count;
    for (uint32_t l = 0; l < program.lanes.size(); ++l) {
      PlanBlockWriter writer(plan);
      for (uint32_t s = 0; s < program.lanes[l].steps.size(); ++s) {
        TUTTI_TRY(write_step(rank, {l, s}, channels, semaphores, writer));
      }
      writer.end_lane();
    }
    return plan;
  }

  Status write_step(Rank rank, StepRef ref, const Channels& channels, const Semaphores& semaphores,
                    PlanBlockWriter& writer) const {
    const Lane& lane = schedule_.ranks[rank.value].lanes[ref.lane];
    const Step& step = lane.steps[ref.step];
    const auto& acquires = semaphores.acquires[ref.lane][ref.step];
    const auto& releases = semaphores.releases[ref.lane][ref.step];
    PlanBlockWriter::Needs needs;
    needs.num_acquired = acquires.size();
    needs.num_released = releases.size();
    if (needs.max_ops() > kPlanMaxOps / 2) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("{}: more lanes wait for each other here than an MSCCL++ thread "
                               "block of {} operations can say",
                               step_name(rank, ref), kPlanMaxOps)};
    }
    Region target;
    if (receives(step.kind)) {
      const uint32_t peer = step.recv_peer.value;
      needs.recv = channels.at({peer, peer, lane.channel});
    }
    if (sends(step.kind)) {
      needs.send = channels.at({step.send_peer.value, rank.value, lane.channel});
      const auto taker = numbering_.place(matching_.taker[numbering_.number(rank, ref)]);
      target = landings_[taker.rank.value].regions[taker.ref.lane][taker.ref.step];
      if (step.num_chunks > 0) needs.target = RemoteBuffer{taker.rank.value, target.buffer};
    }
    writer.begin_step(needs);
    writer.acquire(acquires);
    const Region landed = landings_[rank.value].regions[ref.lane][ref.step];
    write_operations(step, landed, target, writer);
    writer.release(releases);
    return {};
  }

  // `landed`: where the message that the step takes lies; `target`: where the one it sends lands.
  static void write_operations(const Step& step, Region landed, Region target,
                               PlanBlockWriter& writer) {
    if (receives(step.kind)) writer.wait();
    switch (step.kind) {
      case StepKind::kCopy: writer.copy(step.src(), step.dst()); break;
      case StepKind::kReduce:
        writer.reduce(step.dst(), step.src(), step.dst(), std::nullopt);
        break;
      case StepKind::kSend:
        if (step.num_chunks > 0) writer.put(step.src(), target);
        break;
      case StepKind::kRecv:
        if (step.num_chunks > 0 && landed != step.dst()) writer.copy(landed, step.dst());
        break;
      case StepKind::kRecvReduce:
        writer.reduce(step.src(), landed, step.dst(), std::nullopt);
        break;
      case StepKind::kRecvCopySend:
        if (landed != step.dst()) writer.copy(landed, step.dst());
        writer.put(landed, target);
        break;
      case StepKind::kRecvReduceSend: writer.reduce(step.src(), landed, landed, target); break;
      case StepKind::kRecvReduceCopySend:
        writer.reduce(step.src(), landed, step.dst(), target);
        break;
    }
    if (sends(step.kind)) writer.signal();
  }

  const Schedule& schedule_;
  const StepNumbering numbering_;
  Matching matching_;
  std::vector<Landing> landings_;
};

}  // namespace

Result<std::vector<PlanRank>> make_plan(const Schedule& schedule) {
  TUTTI_ASSIGN(const Layout layout, Layout::create(schedule.collective, schedule.chunks_per_block));
  return PlanMaker(schedule, layout).make();
}

}  // namespace tutti::ir::msccl
