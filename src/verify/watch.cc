#include "verify/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "verify/meaning.h"
#include "verify/prove.h"
#include "verify/reachability.h"

namespace tutti::verify {
namespace {

Result<ir::Placement> choose_placement(const ir::Schedule& schedule,
                                       const std::optional<ir::Placement>& asked,
                                       const std::optional<Refusal>& refusal) {
  const std::vector<ir::Placement> possible = placements_to_prove(schedule);
  if (asked) {
    if (std::find(possible.begin(), possible.end(), *asked) != possible.end()) return *asked;
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the schedule does not claim to work {}", ir::to_string(*asked))};
  }
  if (refusal && refusal->placement) return *refusal->placement;
  return possible.empty() ? ir::Placement::kOutOfPlace : possible.front();
}

Discipline choose_discipline(const ir::Schedule& schedule, const std::optional<Refusal>& refusal) {
  if (refusal && refusal->discipline) return *refusal->discipline;
  return schedule.slots > 0 ? Discipline::kSlots : Discipline::kLending;
}

}  // namespace

bool can_be_followed(const Course& course) {
  return !course.refusal ||
         (course.refusal->rule != Rule::kShape && course.refusal->rule != Rule::kMatching);
}

Result<Course> choose_course(const ir::Schedule& schedule,
                             const std::optional<ir::Placement>& asked) {
  Course course;
  auto outcome = prove(schedule, RuleSet::all());
  if (auto* refusal = std::get_if<Refusal>(&outcome)) course.refusal = std::move(*refusal);
  if (!can_be_followed(course)) return course;
  auto placement = choose_placement(schedule, asked, course.refusal);
  if (!placement) return placement.error();
  course.placement = *placement;
  course.discipline = choose_discipline(schedule, course.refusal);
  return course;
}

Watch::Watch(const Facts& facts, Discipline discipline)
    : facts_(facts), graph_(facts, discipline), rounds_(find_rounds(graph_)) {}

void Watch::run(Witness& witness, Course& course) {
  course.stuck = stuck_steps();
  const RuleSet rules = course.stuck.empty() ? RuleSet::all() : RuleSet::none();
  Reachability reachability(graph_, rounds_.order);
  course.stopped_by =
      replay({graph_, rounds_.order, reachability, rules, &witness}, course.placement);
}

// Where each lane stands that has not come to its end.
std::vector<StepName> Watch::stuck_steps() const {
  std::vector<StepName> stuck;
  for (const Facts::Lane& lane : facts_.lanes()) {
    for (StepNumber step = lane.begin; step < lane.end; ++step) {
      if (round_of(step) != kNeverRuns) continue;
      stuck.push_back({lane.rank, facts_.ref(step)});
      break;
    }
  }
  return stuck;
}

Hearing::Hearing(const Facts& facts)
    : facts_(facts), sets_(facts.schedule().collective.num_ranks), at_step_(facts.num_steps()) {
  for (uint32_t r = 0; r < facts.schedule().ranks.size(); ++r) {
    by_rank_.push_back(sets_.only(Rank{r}));
  }
}

// A step has heard what its lane had, what it depends on had, and what its message's sender had.
std::optional<ContributionSet> Hearing::ran(StepNumber step) {
  const Rank rank = facts_.rank(step);
  ContributionSet heard = sets_.only(rank);
  const auto add = [&](StepNumber other) { heard = sets_.unite(heard, at_step_[other]).set; };
  if (step != facts_.lane(step).begin) add(step - 1);
  const ir::RankProgram& program = facts_.schedule().ranks[rank.value];
  for (ir::StepRef dep : program.deps_of(facts_.step(step))) add(facts_.number(rank, dep));
  if (facts_.sender(step) != kNoStep) add(facts_.sender(step));
  at_step_[step] = heard;
  const ContributionSet now = sets_.unite(by_rank_[rank.value], heard).set;
  if (now == by_rank_[rank.value]) return {};
  by_rank_[rank.value] = now;
  return now;
}

}  // namespace tutti::verify
