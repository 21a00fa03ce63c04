#include "plan/synth/greedy.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/invalid.h"
#include "base/try.h"
#include "ir/builder.h"
#include "plan/algorithms/chunking.h"
#include "plan/synth/greedy_network.h"
#include "plan/synth/greedy_schedule.h"

namespace tutti::plan::synth {
namespace {

constexpr double kNsPerPs = 1e-3;
// That a schedule could hold: each is a send and a receive.
constexpr uint64_t kMaxMessages = ir::kMaxSteps / 2;

bool spreads(CollectiveKind kind) {
  return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kBroadcast ||
         kind == CollectiveKind::kAllReduce;
}
bool adds_up(CollectiveKind kind) {
  return kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kReduce ||
         kind == CollectiveKind::kAllReduce;
}

// How many chunks all ranks' parts have, and how many of them are one block.
struct Parts {
  uint64_t num_chunks = 0;
  uint64_t chunks_per_block = 0;
  double chunk_bytes = 0;
};

Parts parts_of(const Collective& collective, uint32_t chunks, uint64_t bytes) {
  const uint64_t p = collective.num_ranks;
  const bool has_one_root = is_rooted(collective.kind);
  Parts parts;
  parts.num_chunks = has_one_root ? chunks : p * chunks;
  const bool is_one_block = has_one_root || collective.kind == CollectiveKind::kAllReduce;
  parts.chunks_per_block = is_one_block ? parts.num_chunks : chunks;
  parts.chunk_bytes =
      std::max(1.0, static_cast<double>(bytes) / static_cast<double>(parts.num_chunks));
  return parts;
}

SpreadLayout layout_of(const Collective& collective, uint32_t chunks, const Parts& parts) {
  SpreadLayout layout;
  layout.chunks_per_block = static_cast<uint32_t>(parts.chunks_per_block);
  for (uint64_t c = 0; c < parts.num_chunks; ++c) {
    layout.owner.push_back(is_rooted(collective.kind) ? collective.root
                                                      : static_cast<uint32_t>(c / chunks));
  }
  return layout;
}

Status check_greedy(const Collective& collective, const topo::Topology& topology,
                    const GreedyOptions& options) {
  if (!is_greedy(collective.kind)) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("greedy makes all_gather, reduce_scatter, all_reduce, all_to_all, "
                             "broadcast and reduce, not {}",
                             to_string(collective.kind))};
  }
  if (collective.num_ranks != topology.num_ranks()) {
    return invalid(fmt::format("{} has {} ranks, the collective {}", topology.name,
                               topology.num_ranks(), collective.num_ranks));
  }
  if (options.chunks == 0) return invalid("at least one chunk");
  const Parts parts = parts_of(collective, options.chunks, options.bytes);
  TUTTI_TRY(chunks_per_block(collective, parts.chunks_per_block));
  return {};
}

// All parts of one synthesis. Sinks may be empty.
class Synthesis {
 public:
  Synthesis(const Collective& collective, const topo::Topology& topology,
            const GreedyOptions& options)
      : collective_(collective),
        topology_(topology),
        options_(options),
        parts_(parts_of(collective, options.chunks, options.bytes)),
        layout_(collective.kind == CollectiveKind::kAllToAll
                    ? SpreadLayout{}
                    : layout_of(collective, options.chunks, parts_)) {}

  Result<GreedyCount> count() {
    TUTTI_TRY(prepare());
    const TransferSink tick = [this](const Transfer& transfer) {
      count_.num_messages += transfer.num_chunks;
    };
    if (collective_.kind == CollectiveKind::kAllToAll) {
      TUTTI_TRY(run_deliver(tick, {.alone = kMaxMessages, .all = UINT64_MAX}));
    }
    if (adds_up(collective_.kind)) TUTTI_TRY(run_spread(reversed(network_), tick));
    if (spreads(collective_.kind)) TUTTI_TRY(run_spread(network_, tick));
    return count_;
  }

  Result<GreedySchedule> write() {
    TUTTI_TRY(check_deliveries());
    if (collective_.num_ranks > 1) TUTTI_TRY(prepare());
    ir::Builder b(collective_, {.name = "greedy",
                                .chunks_per_block = static_cast<uint32_t>(parts_.chunks_per_block),
                                .placement = collective_.kind == CollectiveKind::kAllToAll
                                                 ? ir::Placement::kOutOfPlace
                                                 : ir::Placement::kEither});
    copy_own(b);
    if (collective_.kind == CollectiveKind::kAllToAll) {
      TUTTI_TRY(write_deliver(b));
    } else {
      TUTTI_TRY(write_spread(b));
    }
    return GreedySchedule{std::move(b).finish(), count_.planned_ns};
  }

 private:
  Status prepare() {
    const bool is_all_to_all = collective_.kind == CollectiveKind::kAllToAll;
    TUTTI_ASSIGN(network_, network_of(topology_, is_all_to_all ? Reach::kAll : Reach::kFew));
    return {};
  }

  // Of all_to_all: whether its messages may fit a schedule, before anything is made.
  [[nodiscard]] Status check_deliveries() const {
    if (collective_.kind != CollectiveKind::kAllToAll) return {};
    const uint64_t p = collective_.num_ranks;
    if (2 * p * p * options_.chunks <= kMaxMessages) return {};
    TUTTI_TRY(topo::check(topology_));
    const uint64_t least = least_deliveries(topology_) * options_.chunks;
    if (least <= kMaxMessages) return {};
    return Error{ErrorCode::kUnsupported,
                 fmt::format("all_to_all over {} ranks in {} chunks needs {:.2g} messages or more "
                             "here, as most ranks have no hop to each other and others pass their "
                             "blocks on; a schedule holds at most {:.2g}, of two steps each. Take "
                             "fewer ranks or chunks",
                             p, options_.chunks, static_cast<double>(least),
                             static_cast<double>(kMaxMessages))};
  }

  [[nodiscard]] GreedyWork work() const {
    GreedyWork work{.chunk_bytes = parts_.chunk_bytes, .seed = options_.seed};
    if (!options_.progress) return work;
    // all_reduce is two spreads.
    const double share = collective_.kind == CollectiveKind::kAllReduce ? 0.5 : 1;
    work.progress = [this, share, before = share * num_spreads_](double done) {
      return options_.progress(before + share * done);
    };
    return work;
  }

  Status run_spread(const Network& network, const TransferSink& sink) {
    TUTTI_ASSIGN(const int64_t ps, spread(network, layout_.owner, work(), sink));
    count_.planned_ns += static_cast<double>(ps) * kNsPerPs;
    ++num_spreads_;
    return {};
  }
  struct MostTransfers {
    uint64_t alone;
    uint64_t all;
  };
  Status run_deliver(const TransferSink& sink, MostTransfers most) {
    GreedyWork limited = work();
    limited.max_transfers_alone = most.alone;
    limited.max_transfers = most.all;
    TUTTI_ASSIGN(const int64_t ps, deliver(network_, options_.chunks, limited, sink));
    count_.planned_ns += static_cast<double>(ps) * kNsPerPs;
    return {};
  }

  [[nodiscard]] uint32_t num_lanes() const {
    if (options_.lanes != 0) return options_.lanes;
    const uint32_t by_latency = lanes_a_port(network_, parts_.chunk_bytes);
    return adds_up(collective_.kind) ? std::max(by_latency, 2U) : by_latency;
  }

  Status write_deliver(ir::Builder& b) {
    if (collective_.num_ranks == 1) return {};
    DeliverWriter writer(b, network_, {num_lanes(), 0, Way::kForwards, options_.turns});
    const uint64_t most = kMaxMessages - collective_.num_ranks;
    return run_deliver([&](const Transfer& transfer) { writer.write(transfer); },
                       {.alone = most, .all = most});
  }

  Status write_spread(ir::Builder& b) {
    if (collective_.num_ranks == 1) return {};
    const uint32_t lanes = num_lanes();
    std::vector<ir::StepRef> sums;
    if (adds_up(collective_.kind)) {
      const Network back = reversed(network_);
      std::vector<Transfer> transfers;
      TUTTI_TRY(run_spread(back, [&](const Transfer& t) { transfers.push_back(t); }));
      SumWriter writer(b, back, layout_, {lanes, 0, Way::kBackwards, options_.turns});
      for (auto t = transfers.rbegin(); t != transfers.rend(); ++t) writer.write(*t);
      sums = writer.owners_sums();
    }
    if (!spreads(collective_.kind)) return {};
    const uint32_t first_channel = sums.empty() ? 0 : lanes;
    SpreadWriter writer(b, network_, layout_,
                        {lanes, first_channel, Way::kForwards, options_.turns}, std::move(sums));
    return run_spread(network_, [&](const Transfer& transfer) { writer.write(transfer); });
  }

  // What a rank keeps of its own, and all there is to do for one rank.
  void copy_own(ir::Builder& b) const {
    const auto k = static_cast<uint32_t>(parts_.chunks_per_block);
    if (collective_.num_ranks == 1) {
      b.add_lane(Rank{0}).copy(ir::input(0, k), ir::output(0, k));
      return;
    }
    if (collective_.kind == CollectiveKind::kBroadcast) {
      b.add_lane(Rank{collective_.root}).copy(ir::input(0, k), ir::output(0, k));
    }
    const bool is_all_to_all = collective_.kind == CollectiveKind::kAllToAll;
    if (!is_all_to_all && collective_.kind != CollectiveKind::kAllGather) return;
    for (uint32_t r = 0; r < collective_.num_ranks; ++r) {
      b.add_lane(Rank{r}).copy(ir::input(is_all_to_all ? r * k : 0, k), ir::output(r * k, k));
    }
  }

  const Collective& collective_;
  const topo::Topology& topology_;
  const GreedyOptions& options_;
  Parts parts_;
  SpreadLayout layout_;
  Network network_;
  GreedyCount count_;
  int num_spreads_ = 0;
};

}  // namespace

bool is_greedy(CollectiveKind kind) {
  return spreads(kind) || adds_up(kind) || kind == CollectiveKind::kAllToAll;
}

uint64_t num_greedy_steps(const Collective& collective, uint32_t chunks) {
  const uint64_t p = collective.num_ranks;
  const uint64_t num_spreads = collective.kind == CollectiveKind::kAllReduce ? 2 : 1;
  const uint64_t per_rank = is_rooted(collective.kind) ? chunks : p * chunks;
  return 2 * num_spreads * (p - 1) * per_rank;
}

Result<GreedySchedule> make_greedy(const Collective& collective, const topo::Topology& topology,
                                   const GreedyOptions& options) {
  TUTTI_TRY(check_greedy(collective, topology, options));
  const auto too_large = [&](double num_steps) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{} over {} ranks in {} chunks has {:.2g} steps or more; a schedule "
                             "holds at most {:.2g}. Take fewer ranks or chunks",
                             to_string(collective.kind), collective.num_ranks, options.chunks,
                             num_steps, static_cast<double>(ir::kMaxSteps))};
  };
  const uint64_t num_steps = num_greedy_steps(collective, options.chunks);
  if (num_steps > ir::kMaxSteps) return too_large(static_cast<double>(num_steps));
  try {
    return Synthesis(collective, topology, options).write();
  } catch (const std::length_error&) {
    return too_large(static_cast<double>(ir::kMaxSteps));
  }
}

Result<GreedyCount> count_greedy(const Collective& collective, const topo::Topology& topology,
                                 const GreedyOptions& options) {
  TUTTI_TRY(check_greedy(collective, topology, options));
  if (collective.num_ranks == 1) return GreedyCount{};
  return Synthesis(collective, topology, options).count();
}

}  // namespace tutti::plan::synth
