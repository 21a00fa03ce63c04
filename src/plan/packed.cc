#include "plan/packed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "base/invalid.h"
#include "base/try.h"
#include "plan/packing/tree_schedule.h"
#include "sim/simulate.h"

namespace tutti::plan {
namespace {

constexpr std::string_view kPacked = "packed";
constexpr std::string_view kBlink = "blink";
constexpr std::array<uint32_t, 8> kPieces = {1, 2, 4, 8, 16, 32, 64, 128};
// Bounds the time of a trial; more pieces than this allows are not tried.
constexpr uint64_t kMaxTrialSteps = 200'000;

Result<ir::Schedule> refuse_without_topology(const Collective& collective, const Options&) {
  return invalid(
      fmt::format("{} by packed trees is made for a topology", to_string(collective.kind)));
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

Result<packing::Method> method_of(std::string_view algorithm) {
  if (algorithm == kPacked) return packing::Method::kExact;
  if (algorithm == kBlink) return packing::Method::kBlink;
  return Error{ErrorCode::kNotFound, fmt::format("\"{}\" packs no trees", algorithm)};
}

// The number of steps is proportional to the number of pieces.
uint64_t steps_for(const packing::Packing& packing, uint32_t pieces) {
  const uint64_t num_edges = packing.trees.empty() ? 0 : packing.trees[0].parent.size();
  return uint64_t{4} * packing.trees.size() * num_edges * pieces;
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
  };
  return all;
}

bool needs_topology(std::string_view algorithm) {
  return algorithm == kPacked || algorithm == kBlink;
}

std::span<const uint32_t> packed_chunk_choices() { return kPieces; }

Result<packing::Packing> pack_for(const Collective& collective, const topo::Topology& topology,
                                  std::string_view algorithm) {
  TUTTI_ASSIGN(const packing::Method method, method_of(algorithm));
  return packing::pack(collective, topology, method);
}

Result<ir::Schedule> make_packed(const Collective& collective, const packing::Packing& packing,
                                 std::string_view algorithm, uint32_t chunks) {
  try {
    return packing::tree_schedule(collective, packing.trees, {std::string(algorithm), chunks});
  } catch (const std::length_error&) {
    return invalid(fmt::format("{} {} with {} chunks has too many steps; ask for fewer chunks",
                               to_string(collective.kind), algorithm, chunks));
  }
}

Result<PackedPlan> plan_packed(const Collective& collective, const topo::Topology& topology,
                               std::string_view algorithm, uint32_t chunks, uint64_t bytes) {
  PackedPlan best;
  TUTTI_ASSIGN(best.packing, pack_for(collective, topology, algorithm));
  sim::Options options;
  options.bytes = bytes;
  options.with_critical_path = false;
  options.with_bound = false;
  std::vector<uint32_t> choices = {chunks};
  if (chunks == 0) choices.assign(kPieces.begin(), kPieces.end());
  for (const uint32_t pieces : choices) {
    const bool too_many = steps_for(best.packing, pieces) > kMaxTrialSteps;
    if (best.chunks != 0 && too_many) break;
    TUTTI_ASSIGN(ir::Schedule schedule, make_packed(collective, best.packing, algorithm, pieces));
    TUTTI_ASSIGN(const sim::Report report, sim::simulate(schedule, topology, options));
    if (best.chunks != 0 && report.total_ns >= best.ns) continue;
    best.schedule = std::move(schedule);
    best.chunks = pieces;
    best.ns = report.total_ns;
  }
  return best;
}

}  // namespace tutti::plan
