#include "verify/prove.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "ir/shape.h"
#include "verify/barrier.h"
#include "verify/cycle.h"
#include "verify/event_graph.h"
#include "verify/facts.h"
#include "verify/meaning.h"
#include "verify/order.h"
#include "verify/reachability.h"
#include "verify/replay.h"

namespace tutti::verify {
namespace {

Refusal refuse_whole(Rule rule, std::string_view what) {
  Refusal refusal;
  refusal.rule = rule;
  refusal.message = fmt::format("{}: {}", to_string(rule), what);
  return refusal;
}

std::optional<Refusal> check_grammar(const ir::Schedule& schedule) {
  std::optional<ir::StepPlace> where;
  if (const Status shape = ir::check_shape(schedule, &where); !shape) {
    Refusal refusal = refuse_whole(Rule::kShape, shape.error().message);
    if (where) {
      refusal.rank = where->rank;
      refusal.step = where->ref;
      refusal.has_step = true;
    }
    return refusal;
  }
  if (ir::num_steps(schedule) >= kNoStep) {
    return refuse_whole(Rule::kShape, "the schedule has 2^32 - 1 steps or more");
  }
  const CollectiveKind kind = schedule.collective.kind;
  if (schedule.placement == ir::Placement::kInPlace && !has_in_place(kind)) {
    return refuse_whole(
        Rule::kShape, fmt::format("{} has no in-place form; the schedule can only claim to be out "
                                  "of place",
                                  to_string(kind)));
  }
  return std::nullopt;
}

std::optional<Refusal> refuse_deadlock(const EventGraph& graph, RuleSet rules) {
  if (!rules.has(Rule::kDeadlock)) return std::nullopt;
  return refuse_cycle(graph, find_shortest_cycle(graph));
}

// Everything that is asked under one discipline. The graph's tables are freed before the next.
std::optional<Refusal> prove_under(Discipline discipline, const Facts& facts, RuleSet rules,
                                   Proof& proof) {
  const EventGraph graph(facts, discipline);
  if (discipline == Discipline::kSlots && !find_order(graph, Room::kCounts)) {
    return refuse_deadlock(graph, rules);
  }
  const std::optional<Order> order = find_order(graph, Room::kIgnored);
  if (!order) return refuse_deadlock(graph, rules);
  if (discipline == Discipline::kLending) proof.longest_chain = order->longest_chain;
  if (facts.schedule().collective.kind == CollectiveKind::kBarrier) {
    if (!rules.has(Rule::kBarrier)) return std::nullopt;
    return check_barrier(graph, *order);
  }
  Reachability reachability(graph, *order);
  for (ir::Placement placement : proof.placements) {
    auto refusal = replay({graph, *order, reachability, rules}, placement);
    if (refusal) return refusal;
  }
  return std::nullopt;
}

}  // namespace

std::variant<Proof, Refusal> prove(const ir::Schedule& schedule, RuleSet rules) {
  if (auto refusal = check_grammar(schedule)) return *std::move(refusal);
  Result<Facts> facts = Facts::collect(schedule);
  if (!facts) return refuse_whole(Rule::kMatching, facts.error().message);

  Proof proof;
  proof.num_steps = facts->num_steps();
  proof.num_messages = facts->num_messages();
  proof.placements = placements_to_prove(schedule);
  proof.slots = schedule.slots;
  if (auto refusal = prove_under(Discipline::kLending, *facts, rules, proof)) return *refusal;
  if (schedule.slots == 0) return proof;
  if (auto refusal = prove_under(Discipline::kSlots, *facts, rules, proof)) return *refusal;
  return proof;
}

}  // namespace tutti::verify
