#include "plan/packed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "base/invalid.h"
#include "base/try.h"
#include "plan/packing/quick_trees.h"
#include "plan/packing/ring_schedule.h"
#include "plan/packing/tree_schedule.h"
#include "plan/quick.h"
#include "sim/simulate.h"

namespace tutti::plan {
namespace {

constexpr std::string_view kPacked = "packed";
constexpr std::string_view kBlink = "blink";
constexpr std::string_view kQuick = "quick";
constexpr std::string_view kRings = "rings";
constexpr std::string_view kGreedy = "greedy";
constexpr std::string_view kMixedLinks = "mixed";
constexpr std::string_view kSteps = "steps";
constexpr std::array<uint32_t, 8> kPieces = {1, 2, 4, 8, 16, 32, 64, 128};
// Around a ring every piece has a lane of its own, which ranks have to look after; beyond this many
// a percent is gained (788 us instead of 796 for an all_reduce of 64 MiB on a DGX-1V).
constexpr uint32_t kMostRingPieces = 8;
// Bounds the time of a trial; more pieces than this allows are not tried.
constexpr uint64_t kMaxTrialSteps = 1'000'000;
// The time has one minimum over the number of pieces, but for what is shared unevenly.
constexpr double kSlower = 1.02;
constexpr uint32_t kSlowerTimes = 2;

Result<ir::Schedule> refuse_without_topology(const Collective& collective, const Options&) {
  return invalid(fmt::format("this {} is made for a topology", to_string(collective.kind)));
}

Algorithm entry(CollectiveKind kind, std::string_view name, std::string_view idea) {
  return {.kind = kind,
          .name = name,
          .idea = idea,
          .cost = "(depth - 1 + k) alpha + n / (rate of the trees), k = chunks",
          .takes_chunks = true,
          .takes_radix = false,
          .takes_group_size = false,
          .make = refuse_without_topology};
}

Algorithm quick_entry(CollectiveKind kind) {
  return entry(kind, kQuick,
               "Trees on which every rank is reached as soon as can be: for short messages (needs "
               "--topo).");
}

Algorithm rings_entry(CollectiveKind kind) {
  Algorithm rings = entry(kind, kRings,
                          "As many rings through all ranks as the links hold, along these (needs "
                          "--topo).");
  const bool is_chain = is_rooted(kind);
  rings.cost = is_chain ? "(p - 2 + k) alpha + n / (rate of the rings), k = chunks"
                        : "(p-1) alpha + n (p-1)/p / (rate of the rings); all_reduce twice that";
  return rings;
}

// Rings as a packing: trees that are chains, so that all is said of them that is said of trees.
Result<packing::Packing> pack_rings(const Collective& collective, const topo::Topology& topology) {
  TUTTI_ASSIGN(packing::Packing packing, packing::bounds_for(collective, topology));
  if (collective.num_ranks == 1) return packing;
  TUTTI_ASSIGN(packing::Rings found, packing::find_rings(topology, packing.fabric));
  packing.rings = std::move(found.rings);
  packing.trees = packing::trees_along(packing.rings, collective);
  packing.depth = packing::max_depth(packing.trees);
  packing.routed_gbps = packing.trees_gbps =
      packing::routed_rate(collective, topology, packing.trees);
  return packing;
}

Algorithm mixed_entry(CollectiveKind kind) {
  return entry(kind, kMixedLinks,
               "Packed trees on fast links, and beside them on slow ones (needs --topo).");
}

Algorithm greedy_entry(CollectiveKind kind) {
  Algorithm greedy =
      entry(kind, kGreedy,
            kind == CollectiveKind::kAllToAll
                ? "Blocks take the least crowded of their ways, step by step in time "
                  "(needs --topo)."
                : "Whenever a link is free it carries what its receiver lacks; any "
                  "topology, thousands of ranks (needs --topo).");
  greedy.cost = "not known beforehand; printed beside the bound";
  return greedy;
}

Algorithm steps_entry(CollectiveKind kind) {
  Algorithm steps = entry(kind, kSteps,
                          "The fewest steps from rank to rank, then the fewest rounds; up to 16 "
                          "ranks, for the shortest messages (needs --topo).");
  steps.cost = "steps alpha + rounds (n / chunks) beta";
  return steps;
}

struct PackedRequest {
  std::string_view algorithm;
  uint32_t chunks = 0;
  uint64_t bytes = 0;
};

Result<packing::Method> method_of(std::string_view algorithm) {
  if (algorithm == kPacked) return packing::Method::kExact;
  if (algorithm == kBlink) return packing::Method::kBlink;
  return Error{ErrorCode::kNotFound, fmt::format("\"{}\" packs no trees", algorithm)};
}

}  // namespace

std::span<const Algorithm> topology_algorithms() {
  static const Algorithm all[] = {
      entry(CollectiveKind::kAllReduce, kPacked,
            "Spanning trees packed for the topology, each up and down (needs --topo)."),
      entry(CollectiveKind::kReduce, kPacked,
            "As many trees to the root as the links can hold, packed for the topology (needs "
            "--topo)."),
      entry(CollectiveKind::kBroadcast, kPacked,
            "As many trees from the root as the links can hold, packed for the topology (needs "
            "--topo)."),
      entry(CollectiveKind::kBroadcast, kBlink,
            "Trees as Blink packs them, approximately (needs --topo)."),
      entry(CollectiveKind::kAllGather, kPacked,
            "Trees from every rank, packed together for the topology (needs --topo)."),
      entry(CollectiveKind::kReduceScatter, kPacked,
            "Trees to every rank, packed together for the topology (needs --topo)."),
      quick_entry(CollectiveKind::kAllReduce),
      quick_entry(CollectiveKind::kReduce),
      quick_entry(CollectiveKind::kBroadcast),
      quick_entry(CollectiveKind::kAllGather),
      quick_entry(CollectiveKind::kReduceScatter),
      rings_entry(CollectiveKind::kAllReduce),
      rings_entry(CollectiveKind::kReduce),
      rings_entry(CollectiveKind::kBroadcast),
      rings_entry(CollectiveKind::kAllGather),
      rings_entry(CollectiveKind::kReduceScatter),
      greedy_entry(CollectiveKind::kAllReduce),
      greedy_entry(CollectiveKind::kReduce),
      greedy_entry(CollectiveKind::kBroadcast),
      greedy_entry(CollectiveKind::kAllGather),
      greedy_entry(CollectiveKind::kReduceScatter),
      greedy_entry(CollectiveKind::kAllToAll),
      steps_entry(CollectiveKind::kAllReduce),
      steps_entry(CollectiveKind::kReduce),
      steps_entry(CollectiveKind::kBroadcast),
      steps_entry(CollectiveKind::kAllGather),
      steps_entry(CollectiveKind::kReduceScatter),
      steps_entry(CollectiveKind::kAllToAll),
      mixed_entry(CollectiveKind::kAllReduce),
      mixed_entry(CollectiveKind::kReduce),
      mixed_entry(CollectiveKind::kBroadcast),
      mixed_entry(CollectiveKind::kAllGather),
      mixed_entry(CollectiveKind::kReduceScatter),
  };
  return all;
}

bool needs_topology(std::string_view algorithm) {
  return algorithm == kPacked || algorithm == kBlink || algorithm == kQuick ||
         algorithm == kRings || algorithm == kGreedy || algorithm == kMixedLinks ||
         algorithm == kSteps;
}

std::span<const uint32_t> packed_chunk_choices() { return kPieces; }

PackedTrials::PackedTrials(const packing::Packing& packing)
    : steps_a_piece_(packing.trees.empty()
                         ? 0
                         : uint64_t{4} * packing.trees.size() * packing.trees[0].parent.size()) {}

uint64_t PackedTrials::num_steps(uint32_t chunks) const { return steps_a_piece_ * chunks; }

std::string PackedTrials::refusal(uint32_t chunks) const {
  if (num_noted_ == 0) return "";
  if (num_steps(chunks) > kMaxTrialSteps) {
    return fmt::format("about {} steps; not tried beyond {}", num_steps(chunks), kMaxTrialSteps);
  }
  return num_slower_ >= kSlowerTimes ? "not tried: more pieces have only made it slower" : "";
}

void PackedTrials::note(double ns) {
  num_slower_ = num_noted_ > 0 && ns > best_ns_ * kSlower ? num_slower_ + 1 : 0;
  best_ns_ = num_noted_ == 0 ? ns : std::min(best_ns_, ns);
  ++num_noted_;
}

Result<packing::Packing> pack_for(const Collective& collective, const topo::Topology& topology,
                                  std::string_view algorithm) {
  if (algorithm == kRings) return pack_rings(collective, topology);
  TUTTI_ASSIGN(const packing::Method method, method_of(algorithm));
  return packing::pack(collective, topology, method);
}

Result<ir::Schedule> make_packed(const Collective& collective, const packing::Packing& packing,
                                 std::string_view algorithm, uint32_t chunks) {
  const packing::TreeScheduleOptions options{std::string(algorithm), chunks};
  try {
    if (!packing.rings.empty()) return ring_schedule(collective, packing.rings, options);
    return packing::tree_schedule(collective, packing.trees, options);
  } catch (const std::length_error&) {
    return invalid(fmt::format("{} {} with {} chunks has too many steps; ask for fewer chunks",
                               to_string(collective.kind), algorithm, chunks));
  }
}

namespace {

// With the pieces that simulate fastest; `best` is replaced where that is faster.
Status try_trees(const Collective& collective, const topo::Topology& topology,
                 const PackedRequest& request, packing::Packing packing, PackedPlan& best) {
  sim::Options options;
  options.bytes = request.bytes;
  options.with_critical_path = false;
  options.with_bound = false;
  std::vector<uint32_t> choices = {request.chunks};
  if (request.chunks == 0) choices.assign(kPieces.begin(), kPieces.end());
  const bool goes_round = !packing.rings.empty() && !is_rooted(collective.kind);
  if (goes_round && request.chunks == 0) {
    std::erase_if(choices, [](uint32_t pieces) { return pieces > kMostRingPieces; });
  }
  PackedTrials trials(packing);
  bool is_best = false;
  for (const uint32_t pieces : choices) {
    if (!trials.refusal(pieces).empty()) break;
    TUTTI_ASSIGN(ir::Schedule schedule,
                 make_packed(collective, packing, request.algorithm, pieces));
    TUTTI_ASSIGN(const sim::Report report, sim::simulate(schedule, topology, options));
    trials.note(report.total_ns);
    if (best.chunks != 0 && report.total_ns >= best.ns) continue;
    best.schedule = std::move(schedule);
    best.chunks = pieces;
    best.ns = report.total_ns;
    is_best = true;
  }
  if (is_best) best.packing = std::move(packing);
  return {};
}

}  // namespace

Result<std::vector<packing::Packing>> quick_packings(const Collective& collective,
                                                     const topo::Topology& topology,
                                                     uint64_t bytes) {
  TUTTI_ASSIGN(const packing::Packing bounds, packing::bounds_for(collective, topology));
  if (collective.num_ranks == 1) return std::vector{bounds};
  std::vector<packing::Packing> found;
  for (auto& trees : packing::quick_trees({collective, topology, bounds.fabric, bytes})) {
    packing::Packing packing = bounds;
    packing.trees = std::move(trees);
    packing.depth = packing::max_depth(packing.trees);
    packing.routed_gbps = packing.trees_gbps =
        packing::routed_rate(collective, topology, packing.trees);
    found.push_back(std::move(packing));
  }
  if (!found.empty()) return found;
  return Error{ErrorCode::kUnsupported,
               fmt::format("no trees were found for {} on {} whose every edge a message can take; "
                           "--algo greedy needs none",
                           to_string(collective.kind), topology.name)};
}

Result<PackedPlan> plan_packed(const Collective& collective, const topo::Topology& topology,
                               std::string_view algorithm, uint32_t chunks, uint64_t bytes) {
  if (algorithm == kQuick) return plan_quick(collective, topology, chunks, bytes);
  const PackedRequest request{algorithm, chunks, bytes};
  TUTTI_ASSIGN(packing::Packing packing, pack_for(collective, topology, algorithm));
  PackedPlan best;
  TUTTI_TRY(try_trees(collective, topology, request, std::move(packing), best));
  return best;
}

}  // namespace tutti::plan
