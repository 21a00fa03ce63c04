#include "plan/synth/sketch/routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <set>
#include <tuple>

#include "base/try.h"

namespace tutti::plan::sketch {
namespace {

using solver::Milp;
using solver::Term;
using solver::VarId;

// The solver's tolerances are absolute, so times are counted in thousandths of the longest that is
// of interest, whatever the message.
constexpr double kHorizon = 1000;
constexpr double kPolicyShare = 0.002;  // of the horizon: all connections of a switch together
// Over the time of quickest routes. Without room above the best solution none is found at all.
constexpr double kHorizonSlack = 1.5;
// Where quickest routes cannot be alike and so do not bound the best ones.
constexpr double kLongHorizon = 8;

// When each rank has the chunk, if it takes these links in turn.
std::vector<double> arrivals_of(const Logical& logical, const Demand& demand, uint32_t chunk,
                                const std::vector<uint32_t>& links) {
  std::vector<double> at(logical.num_ranks, -1);
  at[demand.origin(chunk)] = 0;
  for (const uint32_t l : links) {
    at[logical.links[l].to] =
        at[logical.links[l].from] + logical.message_ns(l, demand.bytes_a_hop());
  }
  return at;
}

// The links in the order in which the chunk comes to them; empty where they are no tree that brings
// it to all who want it. Links that lead nowhere are left out.
std::vector<uint32_t> outwards(const Logical& logical, const Demand& demand, uint32_t chunk,
                               const std::vector<bool>& taken) {
  std::vector<uint32_t> in(logical.num_ranks, kNone);
  for (uint32_t l = 0; l < logical.links.size(); ++l) {
    if (taken[l]) in[logical.links[l].to] = l;
  }
  std::vector<bool> is_needed(logical.num_ranks, false);
  for (uint32_t r = 0; r < logical.num_ranks; ++r) {
    if (!demand.wants(r, chunk)) continue;
    uint32_t at = r;
    for (uint32_t hops = 0; at != demand.origin(chunk) && !is_needed[at]; ++hops) {
      if (in[at] == kNone || hops > logical.num_ranks) return {};
      is_needed[at] = true;
      at = logical.links[in[at]].from;
    }
  }
  std::vector<uint32_t> order = {demand.origin(chunk)};
  std::vector<uint32_t> links;
  for (size_t i = 0; i < order.size(); ++i) {
    for (const uint32_t l : logical.out[order[i]]) {
      const uint32_t to = logical.links[l].to;
      if (!is_needed[to] || in[to] != l) continue;
      links.push_back(l);
      order.push_back(to);
    }
  }
  return links;
}

// Every chunk on its quickest way, symmetric ones alike. Bounds what is worth looking at.
std::vector<bool> quickest_choices(const Logical& logical, const Demand& demand, const Ways& ways) {
  std::vector<bool> taken(ways.num_choices(), false);
  std::vector<bool> decided(ways.num_arrivals(), false);
  for (uint32_t c = 0; c < demand.num_chunks(); ++c) {
    const uint32_t orbit = ways.arrival(c, demand.origin(c));
    if (decided[orbit]) continue;
    decided[orbit] = true;
    std::vector<double> best(logical.num_ranks, solver::kInfinity);
    std::vector<uint32_t> in(logical.num_ranks, kNone);
    using Entry = std::pair<double, uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    best[demand.origin(c)] = 0;
    queue.emplace(0, demand.origin(c));
    while (!queue.empty()) {
      const auto [ns, at] = queue.top();
      queue.pop();
      if (ns > best[at]) continue;
      for (const uint32_t l : logical.out[at]) {
        const uint32_t to = logical.links[l].to;
        const double then = ns + logical.message_ns(l, demand.bytes_a_hop());
        if (!ways.is_open(c, l) || then >= best[to]) continue;
        best[to] = then;
        in[to] = l;
        queue.emplace(then, to);
      }
    }
    for (uint32_t r = 0; r < logical.num_ranks; ++r) {
      if (!demand.wants(r, c)) continue;
      for (uint32_t at = r; at != demand.origin(c); at = logical.links[in[at]].from) {
        taken[ways.choice(c, in[at])] = true;
      }
    }
  }
  return taken;
}

std::vector<std::vector<uint32_t>> routes_of(const Logical& logical, const Demand& demand,
                                             const Ways& ways, const std::vector<bool>& taken) {
  std::vector<std::vector<uint32_t>> routes(demand.num_chunks());
  for (uint32_t c = 0; c < demand.num_chunks(); ++c) {
    std::vector<bool> links(logical.links.size(), false);
    for (uint32_t l = 0; l < logical.links.size(); ++l) {
      links[l] = ways.is_open(c, l) && taken[ways.choice(c, l)];
    }
    routes[c] = outwards(logical, demand, c, links);
  }
  return routes;
}

// Whether no chunk comes to a rank by two links. Rotations that carry a chunk into itself can make
// two of one.
bool are_trees(const Logical& logical, const Demand& demand, const Ways& ways,
               const std::vector<bool>& taken) {
  for (uint32_t c = 0; c < demand.num_chunks(); ++c) {
    for (const std::vector<uint32_t>& in : logical.in) {
      const auto comes = std::count_if(in.begin(), in.end(), [&](uint32_t l) {
        return ways.is_open(c, l) && taken[ways.choice(c, l)];
      });
      if (comes > 1) return false;
    }
  }
  return true;
}

// kIo where some chunk does not come to all who want it: what a solver says is not our doing.
Status check_home(const Demand& demand, const std::vector<std::vector<uint32_t>>& links,
                  const solver::Solver& solver) {
  for (uint32_t c = 0; c < demand.num_chunks(); ++c) {
    const bool is_idle =
        demand.pattern == Pattern::kExchange && demand.origin(c) == demand.target(c);
    if (is_idle || !links[c].empty()) continue;
    return Error{ErrorCode::kIo,
                 fmt::format("{}'s answer brings chunk {}, of rank {}, not to all who want it: it "
                             "is no solution; try another version of {}, or --algo greedy",
                             solver.name(), c, demand.origin(c), solver.name())};
  }
  return {};
}

class RoutingModel {
 public:
  RoutingModel(const Logical& logical, const Demand& demand, const Ways& ways, double horizon_ns)
      : logical_(logical), demand_(demand), ways_(ways), ns_(horizon_ns / kHorizon) {}

  void build(const Sketch& sketch, const RoutingOptions& options) {
    time_ = milp.add({.low = options.known_bound_ns / ns_, .high = kHorizon, .cost = 1});
    for (uint32_t i = 0; i < ways_.num_choices(); ++i) is_sent.push_back(milp.add_binary());
    const double weight =
        ways_.num_arrivals() == 0 ? 0 : options.arrival_weight / ways_.num_arrivals();
    for (uint32_t i = 0; i < ways_.num_arrivals(); ++i) {
      start_.push_back(milp.add({.low = 0, .high = kHorizon, .cost = weight}));
    }
    for (uint32_t c = 0; c < demand_.num_chunks(); ++c) add_chunk(c);
    add_ports();
    for (const HyperEdge& edge : sketch.switches) add_policy(edge);
  }

  Milp milp;
  std::vector<VarId> is_sent;  // by choice

 private:
  // By symmetry many rows are the same; each is kept once.
  void add_row(std::vector<Term> terms, double low, double high) {
    std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
      return std::tuple(a.variable, a.factor) < std::tuple(b.variable, b.factor);
    });
    std::vector<double> key = {low, high};
    for (const Term& term : terms) {
      key.push_back(term.variable.value);
      key.push_back(term.factor);
    }
    if (seen_.insert(std::move(key)).second) milp.rows.push_back({std::move(terms), low, high});
  }
  void at_least(std::vector<Term> terms, double low) {
    add_row(std::move(terms), low, solver::kInfinity);
  }

  [[nodiscard]] VarId sent(uint32_t chunk, uint32_t link) const {
    return is_sent[ways_.choice(chunk, link)];
  }
  [[nodiscard]] VarId start(uint32_t chunk, uint32_t rank) const {
    return start_[ways_.arrival(chunk, rank)];
  }

  void add_chunk(uint32_t c) {
    const uint32_t origin = demand_.origin(c);
    if (demand_.pattern == Pattern::kExchange && origin == demand_.target(c)) return;
    milp.variables[start(c, origin).value].high = 0;
    add_cuts(c);
    for (uint32_t r = 0; r < logical_.num_ranks; ++r) {
      if (r != origin) add_arrival(c, r);
    }
    for (uint32_t l = 0; l < logical_.links.size(); ++l) {
      if (!ways_.is_open(c, l)) continue;
      const Link& link = logical_.links[l];
      // A chunk goes on when it has come; what was not sent says nothing.
      const double takes = logical_.message_ns(l, demand_.bytes_a_hop()) / ns_;
      at_least({{start(c, link.to), 1}, {start(c, link.from), -1}, {sent(c, l), -kHorizon}},
               takes - kHorizon);
    }
  }

  // A chunk must leave its origin and enter each node that wants it. That follows from the other
  // rows, but only for whole numbers: without these, bounds are far too low.
  void add_cuts(uint32_t c) {
    const uint32_t size = logical_.ranks_per_node;
    const uint32_t home = demand_.origin(c) / size;
    std::vector<Term> leaves;
    for (const uint32_t l : logical_.out[demand_.origin(c)]) {
      if (ways_.is_open(c, l)) leaves.push_back({sent(c, l), 1});
    }
    at_least(std::move(leaves), 1);
    for (uint32_t node = 0; node * size < logical_.num_ranks; ++node) {
      std::vector<Term> enters;
      bool is_wanted = false;
      for (uint32_t r = node * size; node != home && r < (node + 1) * size; ++r) {
        is_wanted |= demand_.wants(r, c);
        for (const uint32_t l : logical_.in[r]) {
          if (logical_.links[l].crosses && ways_.is_open(c, l)) enters.push_back({sent(c, l), 1});
        }
      }
      if (is_wanted) at_least(std::move(enters), 1);
    }
  }

  void add_arrival(uint32_t c, uint32_t r) {
    std::vector<Term> comes;
    for (const uint32_t l : logical_.in[r]) {
      if (ways_.is_open(c, l)) comes.push_back({sent(c, l), 1});
    }
    if (demand_.wants(r, c)) {
      add_row(comes, 1, 1);
      at_least({{time_, 1}, {start(c, r), -1}}, 0);
      return;
    }
    if (comes.empty()) return;
    add_row(comes, -solver::kInfinity, 1);
    for (const uint32_t l : logical_.out[r]) {  // a relay passes on only what it got
      if (!ways_.is_open(c, l)) continue;
      std::vector<Term> terms = comes;
      terms.push_back({sent(c, l), -1});
      at_least(std::move(terms), 0);
    }
  }

  void add_ports() {
    std::vector<std::vector<uint32_t>> users(logical_.port_ns_per_byte.size());
    for (uint32_t l = 0; l < logical_.links.size(); ++l) {
      for (const uint32_t p : logical_.links[l].ports) users[p].push_back(l);
    }
    for (uint32_t p = 0; p < users.size(); ++p) {
      const double busy = logical_.port_ns_per_byte[p] * demand_.chunk_bytes / ns_;
      std::vector<double> count(ways_.num_choices(), 0);
      for (uint32_t c = 0; c < demand_.num_chunks(); ++c) {
        for (const uint32_t l : users[p]) {
          if (ways_.is_open(c, l)) ++count[ways_.choice(c, l)];
        }
      }
      std::vector<Term> terms = {{time_, 1}};
      for (uint32_t i = 0; i < count.size(); ++i) {
        if (count[i] > 0) terms.push_back({is_sent[i], -busy * count[i]});
      }
      if (terms.size() > 1) at_least(std::move(terms), 0);
    }
  }

  void add_policy(const HyperEdge& edge) {
    if (edge.policy == Policy::kFree) return;
    const bool is_most = edge.policy == Policy::kMost;
    std::vector<uint32_t> links;
    const auto has = [&](uint32_t rank) {
      return std::find(edge.ranks.begin(), edge.ranks.end(), rank) != edge.ranks.end();
    };
    for (uint32_t l = 0; l < logical_.links.size(); ++l) {
      const Link& link = logical_.links[l];
      const uint32_t size = logical_.ranks_per_node;
      if (link.from < size && link.to < size && has(link.from) && has(link.to)) links.push_back(l);
    }
    if (links.empty()) return;
    const double cost = kPolicyShare * kHorizon / static_cast<double>(links.size());
    for (const uint32_t l : links) {
      const VarId used = milp.add({.low = 0, .high = 1, .cost = is_most ? -cost : cost});
      std::vector<Term> any = {{used, -1}};
      std::set<uint32_t> choices;
      for (uint32_t c = 0; c < demand_.num_chunks(); ++c) {
        if (ways_.is_open(c, l)) choices.insert(ways_.choice(c, l));
      }
      for (const uint32_t i : choices) {
        any.push_back({is_sent[i], 1});
        if (!is_most) at_least({{used, 1}, {is_sent[i], -1}}, 0);
      }
      if (is_most) at_least(std::move(any), 0);
    }
  }

  const Logical& logical_;
  const Demand& demand_;
  const Ways& ways_;
  double ns_;  // of one unit of time
  VarId time_;
  std::vector<VarId> start_;  // by arrival
  std::set<std::vector<double>> seen_;
};

Status explain_outcome(const solver::Solution& solution, const solver::Solver& solver) {
  if (solution.has_values()) return {};
  if (solution.outcome == solver::Outcome::kNothingFound) {
    if (solution.was_stopped) {
      return Error{ErrorCode::kAborted,
                   fmt::format("stopped after {:.1f} s, before {} had found any routes",
                               solution.seconds, solver.name())};
    }
    return Error{ErrorCode::kDeadline,
                 fmt::format("{} found no routes in {:.1f} s: allow more with --solver-seconds, or "
                             "draw a smaller sketch (fewer chunks, fewer links, more symmetry)",
                             solver.name(), solution.seconds)};
  }
  return Error{ErrorCode::kRefused,
               fmt::format("no routes satisfy this sketch ({} proved it): its rotations ask for "
                           "routes alike where the rest of the sketch does not allow them; leave "
                           "out a rotation or allow more links",
                           solver.name())};
}

}  // namespace

double routed_ns(const Logical& logical, const Demand& demand,
                 const std::vector<std::vector<uint32_t>>& links) {
  double ns = 0;
  std::vector<double> busy(logical.port_ns_per_byte.size(), 0);
  for (uint32_t c = 0; c < demand.num_chunks(); ++c) {
    const std::vector<double> at = arrivals_of(logical, demand, c, links[c]);
    ns = std::max(ns, *std::max_element(at.begin(), at.end()));
    for (const uint32_t l : links[c]) {
      for (const uint32_t p : logical.links[l].ports) {
        busy[p] += logical.port_ns_per_byte[p] * demand.chunk_bytes;
      }
    }
  }
  for (const double sum : busy) ns = std::max(ns, sum);
  return ns;
}

Result<Routing> route(const Logical& logical, const Demand& demand, const Sketch& sketch,
                      solver::Solver& solver, const RoutingOptions& options) {
  Routing routing;
  routing.links.resize(demand.num_chunks());
  if (demand.num_ranks == 1) {
    routing.is_best = true;
    return routing;
  }
  TUTTI_ASSIGN(const Ways ways, Ways::make(logical, demand, sketch));
  const std::vector<bool> quickest = quickest_choices(logical, demand, ways);
  const bool may_start = are_trees(logical, demand, ways, quickest);
  const double quickest_ns = routed_ns(logical, demand, routes_of(logical, demand, ways, quickest));
  const double horizon_ns = quickest_ns * (may_start ? kHorizonSlack : kLongHorizon);
  RoutingModel model(logical, demand, ways, horizon_ns);
  model.build(sketch, options);
  routing.num_rows = model.milp.rows.size();
  routing.num_binaries = model.milp.num_integers();
  solver::SolveOptions solve = options.solve;
  solve.start.assign(model.milp.variables.size(), 0);
  for (uint32_t i = 0; i < quickest.size(); ++i) {
    solve.start[model.is_sent[i].value] = quickest[i] ? 1 : 0;
  }
  const double unit_ns = horizon_ns / kHorizon;
  if (solve.progress) {  // told in ns
    solve.progress = [&](solver::Progress progress) {
      if (progress.incumbent) *progress.incumbent *= unit_ns;
      if (progress.bound) *progress.bound *= unit_ns;
      options.solve.progress(progress);
    };
  }
  TUTTI_ASSIGN(const solver::Solution solution, solver.solve(model.milp, solve));
  routing.seconds = solution.seconds;
  std::vector<bool> taken = quickest;  // what it began with, where it found nothing else
  if (solution.outcome != solver::Outcome::kNothingFound || !may_start) {
    TUTTI_TRY(explain_outcome(solution, solver));
    for (uint32_t i = 0; i < taken.size(); ++i) taken[i] = solution.is_set(model.is_sent[i]);
  }
  routing.links = routes_of(logical, demand, ways, taken);
  TUTTI_TRY(check_home(demand, routing.links, solver));
  routing.time_ns = routed_ns(logical, demand, routing.links);
  // What else is in the cost: arrivals, at most this share of the time, and connections.
  const double connections_ns =
      kPolicyShare * horizon_ns * static_cast<double>(sketch.switches.size());
  const double bound_ns =
      (solution.bound * unit_ns - connections_ns) / (1 + options.arrival_weight);
  routing.bound_ns = std::min(std::max(bound_ns, options.known_bound_ns), routing.time_ns);
  routing.is_best = solution.outcome == solver::Outcome::kOptimal;
  return routing;
}

}  // namespace tutti::plan::sketch
