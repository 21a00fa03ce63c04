// Random damage to schedules that are right. What the verifier still proves must go right in every
// order in which it can run, tried one by one; what it refuses is counted by rule, and by whether
// some order shows the fault. Replay a run with TUTTI_SEED.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "plan/algorithm.h"
#include "tests/mutants/explorer.h"
#include "tests/mutants/mutation.h"
#include "tests/mutants/small_schedules.h"
#include "verify/prove.h"

namespace tutti::mutants {
namespace {

using ir::Placement;
using ir::Schedule;
using verify::Refusal;
using verify::Rule;

uint64_t seed() {
  const char* text = std::getenv("TUTTI_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 2024;
}

// In how many ways the lanes could stand beside each other if nothing held them together.
uint64_t num_standings(const Schedule& schedule) {
  uint64_t product = 1;
  for (const auto& program : schedule.ranks) {
    for (const auto& lane : program.lanes) product *= lane.steps.size() + 1;
  }
  return product;
}

std::vector<Schedule> originals() {
  constexpr uint64_t kMaxStandings = 2500;
  std::vector<Schedule> list = small_schedules();
  for (const plan::Algorithm& algorithm : plan::algorithms()) {
    for (uint32_t p = 2; p <= 4; ++p) {
      const bool is_p2p = algorithm.kind == CollectiveKind::kSendRecv;
      const auto schedule =
          plan::make({algorithm.kind, p, 0, is_p2p ? p - 1 : 0}, algorithm.name, {});
      if (schedule && num_standings(*schedule) <= kMaxStandings) list.push_back(*schedule);
    }
  }
  return list;
}

struct Tried {
  std::optional<std::string> fault;
  bool complete = true;
};

// Every run of every case that the schedule claims. With slots also a slot more than stated, which
// must not make a difference.
Tried try_all_runs(const Schedule& schedule) {
  const bool has_in_place = schedule.collective.kind != CollectiveKind::kAllToAll &&
                            schedule.collective.kind != CollectiveKind::kSendRecv;
  Tried tried;
  const auto attempt = [&](const ExploreOptions& options) {
    if (tried.fault) return;
    const Exploration result = explore(schedule, options);
    tried.fault = result.fault;
    tried.complete = tried.complete && result.complete;
  };
  for (bool in_place : {false, true}) {
    if (in_place && (schedule.placement == Placement::kOutOfPlace || !has_in_place)) continue;
    if (!in_place && schedule.placement == Placement::kInPlace) continue;
    attempt({Movement::kLendingLate, in_place});
    attempt({Movement::kLendingEarly, in_place});
    if (schedule.slots == 0) continue;
    attempt({Movement::kSlots, in_place, schedule.slots});
    attempt({Movement::kSlots, in_place, schedule.slots + 1});
  }
  return tried;
}

TEST(Explorer, FindsNoFaultInTheOriginals) {
  for (const Schedule& schedule : originals()) {
    SCOPED_TRACE(fmt::format("{} {} of {}", to_string(schedule.collective.kind), schedule.name,
                             schedule.collective.num_ranks));
    const Tried tried = try_all_runs(schedule);
    EXPECT_TRUE(tried.complete);
    EXPECT_EQ(tried.fault, std::nullopt);
  }
}

struct Counts {
  int refused_and_wrong = 0;
  int refused_and_no_run_shows_it = 0;
  int found_by_this_rule_alone = 0;  // of the wrong ones
};

bool is_grammar(Rule rule) { return rule == Rule::kShape || rule == Rule::kMatching; }

// A schedule that differs from the original; every third has two changes.
Mutant draw_mutant(const Schedule& original, bool twice, std::mt19937_64& random) {
  Mutant mutant = mutate(original, random);
  while (mutant.schedule == original) mutant = mutate(original, random);
  if (twice) mutant.schedule = mutate(mutant.schedule, random).schedule;
  return mutant;
}

TEST(RandomMutants, AreRefusedOrGoRightInEveryRun) {
  constexpr int kMutantsPerOriginal = 18;
  std::mt19937_64 random(seed());
  int num_proved = 0;
  int num_not_run = 0;
  int num_mutants = 0;
  std::map<Rule, Counts> refused;
  for (const Schedule& original : originals()) {
    for (int i = 0; i < kMutantsPerOriginal; ++i, ++num_mutants) {
      const Mutant mutant = draw_mutant(original, i % 3 == 2, random);
      const auto outcome = verify::prove(mutant.schedule, verify::RuleSet::all());
      const auto* refusal = std::get_if<Refusal>(&outcome);
      if (refusal && is_grammar(refusal->rule)) {
        ++num_not_run;  // a schedule without grammar has no runs
        continue;
      }
      const Tried tried = try_all_runs(mutant.schedule);
      ASSERT_TRUE(tried.complete) << "too many states: choose smaller originals";
      if (!refusal) {
        ++num_proved;
        EXPECT_EQ(tried.fault, std::nullopt)
            << fmt::format("TUTTI_SEED={}: {} of {} {}", seed(), mutant.change, original.name,
                           to_string(original.collective.kind));
        continue;
      }
      Counts& counts = refused[refusal->rule];
      ++(tried.fault ? counts.refused_and_wrong : counts.refused_and_no_run_shows_it);
      const auto without = verify::prove(mutant.schedule, verify::RuleSet::all_but(refusal->rule));
      if (tried.fault && without.index() == 0) ++counts.found_by_this_rule_alone;
    }
  }
  fmt::print(
      "[ mutants  ] TUTTI_SEED={}: {} mutants, {} proved and right in every run, {} of bad "
      "shape or matching and not run\n",
      seed(), num_mutants, num_proved, num_not_run);
  for (const auto& [rule, counts] : refused) {
    fmt::print(
        "[ mutants  ] {:>13}: {:4} wrong, {:4} of them found by no other rule, {:2} refused "
        "though no run shows it\n",
        to_string(rule), counts.refused_and_wrong, counts.found_by_this_rule_alone,
        counts.refused_and_no_run_shows_it);
  }
  // The generator must reach both sides, and the rules must be needed, or the test says little.
  EXPECT_GT(num_proved, 50);
  for (Rule rule : {Rule::kDeadlock, Rule::kHazard, Rule::kResult}) {
    EXPECT_GT(refused[rule].found_by_this_rule_alone, 5) << to_string(rule);
  }
}

}  // namespace
}  // namespace tutti::mutants
