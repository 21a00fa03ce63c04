#include "plan/synth/sketch/contiguity.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/try.h"

namespace tutti::plan::sketch {
namespace {

using solver::Term;
using solver::VarId;

// More yes or no than this would not be decided in a moment; links between nodes come first.
constexpr size_t kMostPairs = 400;

struct Neighbours {
  uint32_t first = 0;
  uint32_t second = 0;
};

// The transfers of each port in order, and before each transfer the one before it on every port.
std::vector<std::vector<uint32_t>> by_port(const Logical& logical,
                                           const std::vector<Transfer>& transfers) {
  std::vector<std::vector<uint32_t>> ports(logical.port_ns_per_byte.size());
  for (uint32_t t = 0; t < transfers.size(); ++t) {
    for (const uint32_t p : logical.links[transfers[t].link].ports) ports[p].push_back(t);
  }
  return ports;
}

// Exact times when no messages are joined and every link is busy for all of a message: the longest
// way through orders and chunks' ways.
void place_apart(const Logical& logical, double bytes, std::vector<Transfer>& transfers) {
  std::vector<double> port_free(logical.port_ns_per_byte.size(), 0);
  for (Transfer& transfer : transfers) {
    const Link& link = logical.links[transfer.link];
    double begin = transfer.parent == kNone ? 0 : transfers[transfer.parent].end_ns;
    for (const uint32_t p : link.ports) begin = std::max(begin, port_free[p]);
    transfer.begin_ns = begin;
    transfer.end_ns = begin + logical.message_ns(transfer.link, bytes);
    for (const uint32_t p : link.ports) port_free[p] = transfer.end_ns;
  }
}

// Pairs that may become one message: behind each other on every port, next to each other in memory.
std::vector<Neighbours> pairs_of(const Logical& logical, const std::vector<Transfer>& transfers) {
  std::vector<Neighbours> pairs;
  std::vector<uint32_t> last(logical.port_ns_per_byte.size(), kNone);
  for (uint32_t t = 0; t < transfers.size(); ++t) {
    const Link& link = logical.links[transfers[t].link];
    const uint32_t before = link.ports.empty() ? kNone : last[link.ports.front()];
    const bool follows =
        before != kNone && std::all_of(link.ports.begin(), link.ports.end(),
                                       [&](uint32_t p) { return last[p] == before; });
    if (follows && transfers[before].link == transfers[t].link &&
        transfers[before].chunk + 1 == transfers[t].chunk && transfers[t].parent != before) {
      pairs.push_back({before, t});
    }
    for (const uint32_t p : link.ports) last[p] = t;
  }
  std::stable_sort(pairs.begin(), pairs.end(), [&](const Neighbours& a, const Neighbours& b) {
    return logical.links[transfers[a.first].link].crosses >
           logical.links[transfers[b.first].link].crosses;
  });
  if (pairs.size() > kMostPairs) pairs.resize(kMostPairs);
  return pairs;
}

class JoinModel {
 public:
  JoinModel(const Logical& logical, double bytes, const std::vector<Transfer>& transfers,
            const std::vector<Neighbours>& pairs)
      : logical_(logical), transfers_(transfers) {
    unit_ns = std::max(makespan_ns(transfers) / 1000, 1e-9);
    const double horizon = 1001;
    time = milp.add({.low = 0, .high = horizon, .cost = 1});
    joined_to_.assign(transfers.size(), std::nullopt);
    for (uint32_t i = 0; i < pairs.size(); ++i) {
      joins.push_back(milp.add_binary());
      joined_to_[pairs[i].second] = joins.back();
    }
    for (const Transfer& transfer : transfers) {
      begin.push_back(milp.add({.low = 0, .high = horizon}));
      end.push_back(milp.add({.low = 0, .high = horizon}));
      const double takes = logical.links[transfer.link].ns_per_byte * bytes / unit_ns;
      bytes_.push_back(milp.add({.low = takes, .high = horizon}));
    }
    for (uint32_t t = 0; t < transfers.size(); ++t) add_transfer(t);
    for (const auto& row : by_port(logical, transfers)) {
      for (size_t i = 1; i < row.size(); ++i) add_neighbours(row[i - 1], row[i], horizon);
    }
    for (const Neighbours& pair : pairs) add_pair(pair, bytes, horizon);
  }

  solver::Milp milp;
  VarId time;
  std::vector<VarId> joins;  // by pair
  std::vector<VarId> begin;
  std::vector<VarId> end;
  double unit_ns = 1;

 private:
  void add_transfer(uint32_t t) {
    const Link& link = logical_.links[transfers_[t].link];
    milp.at_least({{end[t], 1}, {begin[t], -1}, {bytes_[t], -1}}, link.latency_ns / unit_ns);
    milp.at_least({{time, 1}, {end[t], -1}}, 0);
    if (transfers_[t].parent != kNone) {
      milp.at_least({{begin[t], 1}, {end[transfers_[t].parent], -1}}, 0);
    }
  }

  // The second begins when the first has ended, unless they are one.
  void add_neighbours(uint32_t first, uint32_t second, double horizon) {
    const bool is_pair = joined_to_[second] && transfers_[first].link == transfers_[second].link;
    std::vector<Term> terms = {{begin[second], 1}, {end[first], -1}};
    if (is_pair) terms.push_back({*joined_to_[second], horizon});
    milp.at_least(std::move(terms), 0);
  }

  // One message: it begins when both can, carries the bytes of both, and both end with it.
  void add_pair(const Neighbours& pair, double bytes, double horizon) {
    const VarId is_one = *joined_to_[pair.second];
    const auto if_one = [&](VarId more, VarId less, double by) {
      milp.at_least({{more, 1}, {less, -1}, {is_one, -horizon}}, by - horizon);
    };
    if_one(begin[pair.first], begin[pair.second], 0);
    if_one(begin[pair.second], begin[pair.first], 0);
    if_one(end[pair.first], end[pair.second], 0);
    const double takes = logical_.links[transfers_[pair.second].link].ns_per_byte * bytes;
    if_one(bytes_[pair.second], bytes_[pair.first], takes / unit_ns);
  }

  const Logical& logical_;
  const std::vector<Transfer>& transfers_;
  std::vector<std::optional<VarId>> joined_to_;  // by transfer: whether it is one with the last
  std::vector<VarId> bytes_;  // of its message up to and with this transfer, as time
};

}  // namespace

Result<Contiguity> join_messages(const Logical& logical, const Demand& demand,
                                 const std::vector<Transfer>& ordered, solver::Solver& solver,
                                 const solver::SolveOptions& options) {
  Contiguity result;
  result.transfers = ordered;
  place_apart(logical, demand.chunk_bytes, result.transfers);
  result.apart_ns = result.time_ns = makespan_ns(result.transfers);
  const std::vector<Neighbours> pairs = pairs_of(logical, result.transfers);
  result.num_pairs = static_cast<uint32_t>(pairs.size());
  if (pairs.empty()) return result;
  const JoinModel model(logical, demand.chunk_bytes, result.transfers, pairs);
  TUTTI_ASSIGN(const solver::Solution solution, solver.solve(model.milp, options));
  result.seconds = solution.seconds;
  const double found_ns =
      solution.has_values() ? solution.values[model.time.value] * model.unit_ns : solver::kInfinity;
  if (found_ns >= result.time_ns) return result;
  result.time_ns = found_ns;
  for (uint32_t t = 0; t < result.transfers.size(); ++t) {
    result.transfers[t].begin_ns = solution.values[model.begin[t].value] * model.unit_ns;
    result.transfers[t].end_ns = solution.values[model.end[t].value] * model.unit_ns;
  }
  for (uint32_t i = 0; i < pairs.size(); ++i) {
    if (!solution.is_set(model.joins[i])) continue;
    result.transfers[pairs[i].second].joins = true;
    ++result.num_joined;
  }
  return result;
}

}  // namespace tutti::plan::sketch
