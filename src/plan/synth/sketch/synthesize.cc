#include "plan/synth/sketch/synthesize.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/invalid.h"
#include "base/try.h"
#include "plan/packing/bounds.h"
#include "plan/packing/graph.h"
#include "plan/synth/sketch/trials.h"
#include "sim/lower_bound.h"
#include "topo/reach.h"

namespace tutti::plan::sketch {
namespace {

// A chunk that is cut follows itself this closely; more pieces change routes no further.
constexpr double kRoutedPieces = 16;
constexpr double kLeastPieceBytes = 16384;
constexpr double kJoiningShare = 0.2;  // of the solver's time, at most
constexpr double kJoiningSeconds = 10;
constexpr double kRounding = 1e-9;  // bounds are sums of doubles

std::vector<Direction> directions_of(CollectiveKind kind) {
  if (kind == CollectiveKind::kReduceScatter) return {Direction::kBackward};
  if (kind == CollectiveKind::kAllReduce) return {Direction::kBackward, Direction::kForward};
  return {Direction::kForward};
}

Demand demand_for(const Collective& collective, const Sketch& sketch, uint64_t bytes) {
  Demand demand;
  demand.pattern =
      collective.kind == CollectiveKind::kAllToAll ? Pattern::kExchange : Pattern::kGather;
  demand.num_ranks = collective.num_ranks;
  demand.chunks = sketch.chunks;
  demand.chunk_bytes =
      std::max(static_cast<double>(bytes) / collective.num_ranks / sketch.chunks, 1.0);
  demand.hop_bytes =
      std::min(demand.chunk_bytes, std::max(demand.chunk_bytes / kRoutedPieces, kLeastPieceBytes));
  return demand;
}

class Stages {
 public:
  Stages(const Sketch& sketch, solver::Solver& solver, const SynthesisOptions& options)
      : sketch_(sketch), solver_(solver), options_(options) {}

  // The routes have at most `kJoiningShare` less than all of the time; joining has what is left.
  Status decide(Decided& decided, double known_bound_ns) {
    RoutingOptions routing;
    routing.known_bound_ns = known_bound_ns;
    routing.solve = solve_options("routing", options_.seconds * (1 - kJoiningShare) - spent_);
    TUTTI_ASSIGN(decided.routing,
                 route(decided.logical, decided.demand, sketch_, solver_, routing));
    spent_ += decided.routing.seconds;
    return join(decided);
  }

  // The same routes where links are alike in both directions.
  Status join(Decided& decided) {
    const OrderingOptions ordering = {.chunk_bytes = decided.demand.chunk_bytes,
                                      .own_first = sketch_.own_first};
    const std::vector<Transfer> ordered =
        order(decided.logical, decided.demand, decided.routing.links, ordering);
    const double left = std::min(kJoiningSeconds, options_.seconds - spent_);
    TUTTI_ASSIGN(decided.contiguity, join_messages(decided.logical, decided.demand, ordered,
                                                   solver_, solve_options("scheduling", left)));
    spent_ += decided.contiguity.seconds;
    return {};
  }

  [[nodiscard]] double spent() const { return spent_; }

 private:
  solver::SolveOptions solve_options(std::string_view stage, double seconds) {
    solver::SolveOptions solve;
    solve.seconds = std::max(seconds, 0.5);
    solve.gap = options_.gap;
    solve.stop = options_.stop;
    solve.abandon = options_.abandon;
    if (options_.progress) {
      solve.progress = [this, stage](const solver::Progress& progress) {
        options_.progress(fmt::format("{}, {}", sketch_.name, stage), progress);
      };
    }
    return solve;
  }

  const Sketch& sketch_;
  solver::Solver& solver_;
  const SynthesisOptions& options_;
  double spent_ = 0;
};

double gbps_of(const packing::Bound& bound, const packing::Graph& graph) {
  return static_cast<double>(bound.rate.numerator()) /
         static_cast<double>(bound.rate.denominator()) * graph.unit_gbps;
}

// What must cross some cut of the machine, whatever the links used.
Result<double> cut_ns(const Collective& collective, const topo::Topology& topology,
                      uint64_t bytes) {
  if (collective.num_ranks == 1 || collective.kind == CollectiveKind::kAllToAll) return 0.0;
  TUTTI_ASSIGN(const packing::Fabric fabric, packing::fabric_of(topology));
  const packing::Graph& graph = fabric.whole;
  if (collective.kind == CollectiveKind::kAllReduce) {
    return static_cast<double>(bytes) / gbps_of(packing::least_partition(graph), graph);
  }
  const std::vector<int64_t> demand(collective.num_ranks, 1);
  const bool is_upward = collective.kind == CollectiveKind::kReduceScatter;
  const packing::Bound bound =
      packing::least_cut(is_upward ? packing::reversed(graph) : graph, demand);
  return static_cast<double>(bytes) / (gbps_of(bound, graph) * collective.num_ranks);
}

}  // namespace

bool is_served(CollectiveKind kind) {
  return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kAllToAll;
}

Result<double> least_ns(const Collective& collective, const topo::Topology& topology,
                        uint64_t bytes) {
  TUTTI_ASSIGN(const ir::Layout layout, ir::Layout::create(collective, 1));
  const ir::Sizes sizes = ir::Sizes::even(layout, bytes);
  std::vector<double> rates;
  for (const topo::Link& link : topology.links) rates.push_back(link.gbps);
  const double simple = sim::lower_bound(layout, sizes, 1, topology, rates).ns();
  const auto cut = cut_ns(collective, topology, bytes);
  return std::max(simple, cut ? *cut : 0.0);
}

Result<Synthesis> synthesize(const Collective& collective, const topo::Topology& topology,
                             const Sketch& sketch, solver::Solver& solver,
                             const SynthesisOptions& options) {
  if (!is_served(collective.kind)) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("sketches serve all_gather, reduce_scatter, all_reduce and "
                             "all_to_all, not {}",
                             to_string(collective.kind))};
  }
  if (collective.num_ranks != topology.num_ranks()) {
    return invalid(fmt::format("{} ranks were asked for and {} has {}", collective.num_ranks,
                               topology.name, topology.num_ranks()));
  }
  TUTTI_TRY(topo::check_reach(topology));
  Synthesis result;
  result.sketch = sketch;
  TUTTI_ASSIGN(result.bound_ns, least_ns(collective, topology, options.bytes));
  const Demand demand = demand_for(collective, sketch, options.bytes);
  Stages stages(sketch, solver, options);
  std::vector<Decided> decided;
  for (const Direction direction : directions_of(collective.kind)) {
    Decided next;
    next.demand = demand;
    next.direction = direction;
    TUTTI_ASSIGN(next.logical, logical_of(topology, sketch, direction));
    const bool is_known = !decided.empty() && is_same_shape(decided[0].logical, next.logical);
    if (is_known) {
      next.routing = decided[0].routing;
      TUTTI_TRY(stages.join(next));
    } else {
      // What bounds all_reduce as a whole does not bound one direction of it.
      const bool is_half = collective.kind == CollectiveKind::kAllReduce;
      TUTTI_TRY(stages.decide(next, is_half ? 0 : result.bound_ns * (1 - kRounding)));
    }
    decided.push_back(std::move(next));
  }
  TUTTI_TRY(choose_lowering(collective, topology, decided, options, result));
  const auto longest = std::max_element(
      decided.begin(), decided.end(),
      [](const Decided& a, const Decided& b) { return a.routing.seconds < b.routing.seconds; });
  result.routing = longest->routing;
  result.contiguity = longest->contiguity;
  result.solver_seconds = stages.spent();
  return result;
}

}  // namespace tutti::plan::sketch
