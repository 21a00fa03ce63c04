#include "verify/barrier.h"

#include <fmt/format.h>

#include <vector>

#include "verify/contribution_set.h"
#include "verify/report.h"

namespace tutti::verify {
namespace {

// For every step, the ranks of which some step has run before or with it. Waiting for room does not
// count: more slots would take it away.
std::vector<ContributionSet> collect_heard(const EventGraph& graph, const Order& order,
                                           ContributionSets& sets) {
  const Facts& facts = graph.facts();
  std::vector<ContributionSet> heard(facts.num_steps());
  for (StepNumber event : order.events) {
    ContributionSet all;
    graph.for_each_step(
        event, [&](StepNumber step) { all = sets.unite(all, sets.only(facts.rank(step))).set; });
    graph.for_each_wait(event, [&](const Wait& wait) {
      if (wait.kind != WaitKind::kRoom) all = sets.unite(all, heard[wait.awaited]).set;
    });
    graph.for_each_step(event, [&](StepNumber step) { heard[step] = all; });
  }
  return heard;
}

}  // namespace

std::optional<Refusal> check_barrier(const EventGraph& graph, const Order& order) {
  const Facts& facts = graph.facts();
  const uint32_t num_ranks = facts.schedule().collective.num_ranks;
  if (num_ranks == 1) return std::nullopt;
  ContributionSets sets(num_ranks);
  const std::vector<ContributionSet> heard = collect_heard(graph, order, sets);
  std::vector<ContributionSet> at_end(num_ranks);
  for (uint32_t r = 0; r < num_ranks; ++r) at_end[r] = sets.only(Rank{r});
  for (const Facts::Lane& lane : facts.lanes()) {
    if (lane.begin == lane.end) continue;
    ContributionSet& its = at_end[lane.rank.value];
    its = sets.unite(its, heard[lane.end - 1]).set;
  }
  for (uint32_t r = 0; r < num_ranks; ++r) {
    if (at_end[r] == sets.all()) continue;
    const ContributionSets::Ranges missing = sets.missing(at_end[r]);
    Refusal refusal;
    refusal.rule = Rule::kBarrier;
    refusal.rank = Rank{r};
    refusal.discipline = graph.discipline();
    refusal.message = fmt::format(
        "barrier: rank {} can leave {} before {} entered: no chain of messages leads from there to "
        "its last step",
        r, name_of(facts, graph.discipline()), name_of(missing));
    return refusal;
  }
  return std::nullopt;
}

}  // namespace tutti::verify
