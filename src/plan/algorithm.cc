#include "plan/algorithm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "base/invalid.h"
#include "base/try.h"
#include "ir/builder.h"
#include "ir/layout.h"
#include "plan/algorithms/catalogue.h"

namespace tutti::plan {
namespace {

// More pieces than any message profits from, and few enough that a schedule of them is small.
constexpr uint32_t kMaxChunks = 1u << 16;

Status check_collective(const Collective& collective) {
  TUTTI_TRY(ir::Layout::create(collective, 1));
  const std::string_view kind = to_string(collective.kind);
  if (collective.root != 0 && !is_rooted(collective.kind)) {
    return invalid(fmt::format("{} has no root, but {} is given", kind, collective.root));
  }
  if (collective.peer != 0 && collective.kind != CollectiveKind::kSendRecv) {
    return invalid(fmt::format("{} has no peer, but {} is given", kind, collective.peer));
  }
  return {};
}

// Refuses an option that was given but is not taken, naming the algorithms of this collective that
// do take it.
Status check_taken(const Algorithm& algorithm, bool Algorithm::*takes, uint32_t given,
                   std::string_view option) {
  if (given == 0 || algorithm.*takes) return {};
  std::vector<std::string_view> takers;
  for (const Algorithm& other : algorithms()) {
    if (other.kind == algorithm.kind && other.*takes) takers.push_back(other.name);
  }
  const std::string others =
      takers.empty() ? "none does" : fmt::format("these do: {}", fmt::join(takers, ", "));
  const std::string_view kind = to_string(algorithm.kind);
  return invalid(fmt::format("{} {} does not take {}; of the algorithms of {} {}", kind,
                             algorithm.name, option, kind, others));
}

Status check_options(const Algorithm& algorithm, const Options& options) {
  TUTTI_TRY(check_taken(algorithm, &Algorithm::takes_chunks, options.chunks, "chunks"));
  TUTTI_TRY(check_taken(algorithm, &Algorithm::takes_radix, options.radix, "radix"));
  TUTTI_TRY(check_taken(algorithm, &Algorithm::takes_group_size, options.group_size, "group_size"));
  if (options.chunks > kMaxChunks) {
    return invalid(fmt::format("{} {}: {} chunks are too many; take at most {}",
                               to_string(algorithm.kind), algorithm.name, options.chunks,
                               kMaxChunks));
  }
  return {};
}

}  // namespace

std::span<const Algorithm> algorithms() {
  static const Algorithm all[] = {
      kAllReduceRing,
      kAllReduceRecursiveDoubling,
      kAllReduceRabenseifner,
      kAllReduceDoubleTree,
      kAllReduceOneShot,
      kAllReduceTwoShot,
      kAllReducePull,
      kAllReducePullAll,
      kAllReduceTwoLevel,
      kReduceBinomial,
      kReduceReduceScatterGather,
      kReduceChain,
      kReducePull,
      kReduceSpread,
      kBroadcastBinomial,
      kBroadcastChain,
      kBroadcastScatterAllGather,
      kBroadcastDoubleTree,
      kBroadcastDirect,
      kBroadcastSpread,
      kAllGatherRing,
      kAllGatherRecursiveDoubling,
      kAllGatherBruck,
      kAllGatherNeighborExchange,
      kAllGatherDirect,
      kReduceScatterRing,
      kReduceScatterRecursiveHalving,
      kReduceScatterPairwise,
      kReduceScatterDirect,
      kReduceScatterPull,
      kAllToAllPairwise,
      kAllToAllBruck,
      kAllToAllTwoLevel,
      kAllToAllDirect,
      kGatherDirect,
      kGatherBinomial,
      kScatterDirect,
      kScatterBinomial,
      kBarrierDissemination,
      kBarrierDirect,
      kSendRecvDirect,
  };
  return all;
}

Result<const Algorithm*> find_algorithm(CollectiveKind kind, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.kind != kind) continue;
    if (algorithm.name == name) return &algorithm;
    names.push_back(algorithm.name);
  }
  return Error{ErrorCode::kNotFound, fmt::format("{} has no algorithm \"{}\"; it has: {}",
                                                 to_string(kind), name, fmt::join(names, ", "))};
}

Result<ir::Schedule> make(const Collective& collective, std::string_view algorithm,
                          const Options& options) {
  TUTTI_ASSIGN(const Algorithm* const found, find_algorithm(collective.kind, algorithm));
  TUTTI_TRY(check_collective(collective));
  TUTTI_TRY(check_options(*found, options));
  try {
    return found->make(collective, options);
  } catch (const std::length_error&) {
    return invalid(
        fmt::format("{} {} over {} ranks has more than {} steps; algorithms made for many "
                    "ranks, such as double_tree and two_level, or fewer chunks need less",
                    to_string(collective.kind), algorithm, collective.num_ranks, ir::kMaxSteps));
  }
}

}  // namespace tutti::plan
