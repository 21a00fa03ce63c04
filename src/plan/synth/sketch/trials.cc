#include "plan/synth/sketch/trials.h"

#include <algorithm>

#include "base/try.h"
#include "plan/packing/tree_schedule.h"
#include "sim/simulate.h"

namespace tutti::plan::sketch {
namespace {

constexpr uint32_t kMostPieces = 128;
constexpr uint64_t kMostTrialSteps = 150'000;  // bounds the time of a trial
constexpr double kHopeless = 1.02;  // to the best so far; worse three times ends the search

struct Manner {
  uint32_t lanes;
  bool keeps_ports;
  bool is_trees;
};
constexpr Manner kManners[] = {
    {1, true, false}, {2, true, false}, {4, true, false}, {4, false, false}, {1, false, true}};

class Trials {
 public:
  Trials(const Collective& collective, const topo::Topology& topology,
         const std::vector<Decided>& decided, const SynthesisOptions& options, Synthesis& best)
      : collective_(collective), topology_(topology), decided_(decided), best_(best) {
    conditions_.bytes = options.bytes;
    conditions_.with_bound = false;
    conditions_.with_critical_path = false;
    for (const Decided& d : decided) num_transfers_ += d.contiguity.transfers.size();
  }

  Status run(uint32_t wanted_pieces) {
    uint32_t misses = 0;
    for (uint32_t pieces = 1; pieces <= kMostPieces; pieces *= 2) {
      if (wanted_pieces != 0) pieces = wanted_pieces;
      if (has_best_ && 2 * num_transfers_ * pieces > kMostTrialSteps) break;
      double ns = solver::kInfinity;
      for (const Manner& manner : kManners) {
        TUTTI_ASSIGN(const double took, try_manner(manner, pieces));
        ns = std::min(ns, took);
      }
      misses = ns > best_.ns * kHopeless ? misses + 1 : 0;
      if (wanted_pieces != 0 || misses == 3) break;
    }
    return {};
  }

 private:
  // All chunks' ways as trees; only where both directions of all_reduce take the same.
  [[nodiscard]] std::vector<packing::Tree> trees() const {
    const Decided& d = decided_.front();
    if (d.demand.pattern == Pattern::kExchange) return {};
    for (const Decided& other : decided_) {
      if (other.routing.links != d.routing.links) return {};
    }
    std::vector<packing::Tree> found;
    for (uint32_t c = 0; c < d.demand.num_chunks(); ++c) {
      packing::Tree tree;
      tree.root = d.demand.origin(c);
      tree.parent.assign(d.demand.num_ranks, packing::kNoParent);
      for (const uint32_t l : d.routing.links[c]) {
        tree.parent[d.logical.links[l].to] = d.logical.links[l].from;
      }
      found.push_back(std::move(tree));
    }
    return packing::merged(std::move(found));
  }

  Result<ir::Schedule> make(const Manner& manner, uint32_t pieces) const {
    if (manner.is_trees) {
      return packing::tree_schedule(collective_, trees(), {"sketch", pieces});
    }
    std::vector<Phase> phases;
    for (const Decided& d : decided_) {
      Phase phase = {.logical = &d.logical,
                     .demand = d.demand,
                     .direction = d.direction,
                     .transfers = d.contiguity.transfers};
      const double bytes = d.demand.chunk_bytes / pieces;
      // Messages are joined where each hop waits for whole chunks; between lanes that take turns
      // there is nothing to save.
      if (pieces > 1 || manner.lanes > 1) {
        phase.transfers = order(d.logical, d.demand, d.routing.links,
                                {.chunk_bytes = bytes, .own_first = best_.sketch.own_first});
      }
      phase.interval_ns = interval_ns(d.logical, phase.transfers, bytes);
      phases.push_back(std::move(phase));
    }
    return lower(collective_, phases,
                 {.pieces = pieces, .lanes = manner.lanes, .keeps_ports = manner.keeps_ports});
  }

  Result<double> try_manner(const Manner& manner, uint32_t pieces) {
    if (manner.is_trees && (collective_.num_ranks == 1 || trees().empty())) {
      return solver::kInfinity;
    }
    TUTTI_ASSIGN(ir::Schedule schedule, make(manner, pieces));
    TUTTI_ASSIGN(const sim::Report report, sim::simulate(schedule, topology_, conditions_));
    if (has_best_ && report.total_ns >= best_.ns) return report.total_ns;
    has_best_ = true;
    best_.schedule = std::move(schedule);
    best_.ns = report.total_ns;
    best_.pieces = pieces;
    best_.lanes = manner.lanes;
    best_.is_trees = manner.is_trees;
    best_.is_joined = !manner.is_trees && pieces == 1 && manner.lanes == 1;
    return report.total_ns;
  }

  const Collective& collective_;
  const topo::Topology& topology_;
  const std::vector<Decided>& decided_;
  Synthesis& best_;
  sim::Options conditions_;
  uint64_t num_transfers_ = 0;
  bool has_best_ = false;
};

}  // namespace

Status choose_lowering(const Collective& collective, const topo::Topology& topology,
                       const std::vector<Decided>& decided, const SynthesisOptions& options,
                       Synthesis& best) {
  return Trials(collective, topology, decided, options, best).run(options.pieces);
}

}  // namespace tutti::plan::sketch
