#include "verify/report.h"

#include <fmt/format.h>

#include "ir/shape.h"

namespace tutti::verify {

std::string name_of(ir::Region region) {
  if (region.count == 1) return fmt::format("{}[{}]", ir::to_string(region.buffer), region.index);
  return fmt::format("{}[{}:{}]", ir::to_string(region.buffer), region.index,
                     uint64_t{region.index} + region.count);
}

std::string describe(const ir::Step& step) {
  std::string text(ir::to_string(step.kind));
  const bool reads = ir::reads_src(step.kind);
  const bool writes = ir::writes_dst(step.kind);
  if (step.num_chunks == 0) {
    text += " a signal";
  } else if (reads && writes) {
    text += fmt::format(" {} -> {}", name_of(step.src()), name_of(step.dst()));
  } else {
    text += fmt::format(" {}", name_of(reads ? step.src() : step.dst()));
  }
  if (ir::receives(step.kind)) text += fmt::format(" from rank {}", step.recv_peer.value);
  if (ir::sends(step.kind)) text += fmt::format(" to rank {}", step.send_peer.value);
  return text;
}

std::string name_of(const Facts& facts, StepNumber step) {
  return fmt::format("{} ({})", ir::step_name(facts.rank(step), facts.ref(step)),
                     describe(facts.step(step)));
}

std::string name_of(const ContributionSets::Ranges& ranks) {
  if (ranks.empty()) return "no rank";
  const bool one = ranks.size() == 1 && ranks[0].end == ranks[0].begin + 1;
  std::string text = one ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(ranks[i].begin);
    if (ranks[i].end > ranks[i].begin + 1) text += fmt::format("-{}", ranks[i].end - 1);
  }
  return text;
}

std::string name_of(const Facts& facts, Discipline discipline) {
  if (discipline == Discipline::kLending) return "under lending";
  const uint32_t slots = facts.schedule().slots;
  return fmt::format("with {} slot{}", slots, slots == 1 ? "" : "s");
}

Refusal refuse_step(const EventGraph& graph, Rule rule, StepNumber step, const std::string& what) {
  const Facts& facts = graph.facts();
  Refusal refusal;
  refusal.rule = rule;
  refusal.rank = facts.rank(step);
  refusal.step = facts.ref(step);
  refusal.has_step = true;
  refusal.discipline = graph.discipline();
  refusal.message = fmt::format("{}: {} {}", to_string(rule), name_of(facts, step), what);
  return refusal;
}

}  // namespace tutti::verify
