#include "plan/synth/sketch/automatic.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include "base/try.h"
#include "topo/reach.h"
#include "topo/router.h"

namespace tutti::plan::sketch {
namespace {

constexpr uint32_t kChunkCounts[] = {1, 2, 4};
constexpr double kFirstShare = 0.5;  // of the time that is left, for each sketch

// How many consecutive ranks share a machine; all ranks where machines differ or there is one.
uint32_t ranks_a_node(const topo::Topology& topology) {
  const uint32_t num_ranks = topology.num_ranks();
  const auto machine = [&](uint32_t r) { return topology.device_of(Rank{r}).machine; };
  uint32_t size = 1;
  while (size < num_ranks && machine(size) == machine(0)) ++size;
  for (uint32_t r = 1; r < num_ranks; ++r) {
    if ((machine(r) == machine(r - 1)) != (r % size != 0)) return num_ranks;
  }
  return num_ranks % size == 0 ? size : num_ranks;
}

// The rotations that the machine has, the finest of each group: of a node's ranks, and of nodes.
std::vector<Rotation> rotations_of(const topo::Topology& topology, const Sketch& sketch) {
  const auto logical = logical_of(topology, sketch, Direction::kForward);
  std::vector<Rotation> found;
  if (!logical) return found;
  const uint32_t size = sketch.ranks_per_node;
  const uint32_t num_ranks = topology.num_ranks();
  const auto add_finest = [&](uint32_t group, uint32_t step) {
    for (uint32_t offset = step; offset < group; offset += step) {
      if (group % offset != 0 || !link_images(*logical, {offset, group})) continue;
      found.push_back({offset, group});
      return;
    }
  };
  if (size > 1) add_finest(size, 1);
  if (size < num_ranks) add_finest(num_ranks, size);
  return found;
}

// The first physical link between nodes that each rank's messages to other nodes pass: its NIC.
std::vector<uint32_t> nics_of(const topo::Topology& topology, uint32_t size) {
  topo::Router router(topology);
  std::vector<uint32_t> nic(size, kNone);
  for (uint32_t r = 0; r < size; ++r) {
    for (uint32_t to = size; to < 2 * size; ++to) {
      const auto route = router.route(Rank{r}, Rank{to});
      if (!route) continue;
      for (const topo::LinkId id : *route) {
        if (nic[r] == kNone && topology.links[id.value].link_class == topo::LinkClass::kNetwork) {
          nic[r] = id.value;
        }
      }
    }
  }
  return nic;
}

// Of the ranks that share a NIC one sends and another receives, so that no rank's own links carry
// both (TACCL's relay sketches).
std::optional<Sketch> relay_sketch(const topo::Topology& topology, Sketch sketch) {
  std::map<uint32_t, std::vector<uint32_t>> sharers;
  const std::vector<uint32_t> nics = nics_of(topology, sketch.ranks_per_node);
  for (uint32_t r = 0; r < nics.size(); ++r) {
    if (nics[r] != kNone) sharers[nics[r]].push_back(r);
  }
  sketch.name = "relays";
  std::vector<uint32_t> senders;
  for (const auto& [nic, ranks] : sharers) senders.push_back(ranks[0]);
  std::sort(senders.begin(), senders.end());
  const bool is_shared = std::any_of(sharers.begin(), sharers.end(),
                                     [](const auto& entry) { return entry.second.size() > 1; });
  if (!is_shared && !senders.empty() && senders.size() < nics.size()) {
    // Ranks with a way out of their own are few: each takes its part of the blocks.
    for (const uint32_t sender : senders) sketch.relays.push_back({sender, {}});
    for (uint32_t r = 0; r < nics.size(); ++r) {
      sketch.relays[r * senders.size() / nics.size()].blocks_of.push_back(r);
    }
    return sketch;
  }
  sketch.across = Across::kListed;
  for (const auto& [nic, ranks] : sharers) {
    if (ranks.size() < 2) return std::nullopt;
    sketch.senders.push_back({ranks[1], {ranks[0]}});
    sketch.relays.push_back({ranks[1], ranks});
  }
  if (sketch.senders.empty()) return std::nullopt;
  return sketch;
}

double seconds_left(std::chrono::steady_clock::time_point start, double allowed) {
  return allowed - std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::vector<Sketch> automatic_sketches(const topo::Topology& topology,
                                       const Collective& collective) {
  Sketch plain;
  plain.ranks_per_node = ranks_a_node(topology);
  plain.name = "all links";
  std::vector<Sketch> shapes;
  if (plain.ranks_per_node < topology.num_ranks()) {
    if (auto relays = relay_sketch(topology, plain)) shapes.push_back(*std::move(relays));
    Sketch same = plain;
    same.across = Across::kSame;
    same.name = "same rank";
    shapes.push_back(std::move(same));
  }
  shapes.push_back(plain);
  std::vector<Sketch> sketches;
  for (const uint32_t chunks : kChunkCounts) {
    // A block of all_to_all has one way to go; its parts would only take the same.
    if (chunks > 2 && collective.kind == CollectiveKind::kAllToAll) break;
    for (Sketch shape : shapes) {
      if (!logical_of(topology, shape, Direction::kForward)) continue;
      shape.symmetry = rotations_of(topology, shape);
      shape.chunks = chunks;
      if (chunks > 1) shape.name += fmt::format(", {} chunks", chunks);
      sketches.push_back(std::move(shape));
    }
  }
  return sketches;
}

Result<AutomaticSynthesis> synthesize_automatically(const Collective& collective,
                                                    const topo::Topology& topology,
                                                    solver::Solver& solver,
                                                    const SynthesisOptions& options) {
  TUTTI_TRY(topo::check_reach(topology));
  const auto start = std::chrono::steady_clock::now();
  AutomaticSynthesis result;
  std::optional<Error> first_error;
  std::vector<Sketch> sketches = automatic_sketches(topology, collective);
  if (sketches.empty()) sketches.emplace_back().ranks_per_node = ranks_a_node(topology);
  bool has_best = false;
  for (const Sketch& sketch : sketches) {
    const double left = seconds_left(start, options.seconds);
    const bool is_stopped = options.stop && options.stop();
    if (has_best && (left < 1 || is_stopped)) break;
    SynthesisOptions once = options;
    once.seconds = std::max(left * kFirstShare, 1.0);
    auto made = synthesize(collective, topology, sketch, solver, once);
    if (!made) {
      result.attempts.push_back({sketch.name, 0, made.error().message});
      if (!first_error) first_error = made.error();
      // What cannot be for this collective cannot be for any sketch. A solver that died may answer
      // the next question.
      const ErrorCode code = made.error().code;
      const bool is_abandoned = options.abandon && options.abandon();
      const bool is_over = is_stopped || is_abandoned;
      if (code == ErrorCode::kUnsupported || is_over) break;
      continue;
    }
    result.attempts.push_back({sketch.name, made->ns, ""});
    if (!has_best || made->ns < result.best.ns) result.best = *std::move(made);
    has_best = true;
    result.is_close = result.best.ns <= kEnough * result.best.bound_ns;
    if (result.is_close) break;
  }
  if (!has_best) return *first_error;
  return result;
}

}  // namespace tutti::plan::sketch
