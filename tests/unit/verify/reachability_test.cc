#include "verify/reachability.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "tests/unit/verify/ring.h"

namespace tutti::verify {
namespace {

using ir::input;
using ir::output;

// A schedule without meaning that cannot deadlock: both ends of a message are written at once, and
// dependencies only name steps that were there before. Lane i of every rank has channel i.
ir::Schedule random_schedule(std::mt19937_64& random, uint32_t num_ranks, uint32_t num_lanes) {
  ir::Builder b({CollectiveKind::kAllReduce, num_ranks}, {.name = "random", .slots = 3});
  std::vector<std::vector<ir::LaneWriter>> lanes(num_ranks);
  std::vector<std::vector<ir::StepRef>> steps(num_ranks);
  for (uint32_t r = 0; r < num_ranks; ++r) {
    for (uint32_t i = 0; i < num_lanes; ++i) lanes[r].push_back(b.add_lane(Rank{r}, i));
  }
  const auto pick = [&](uint64_t n) { return static_cast<uint32_t>(random() % n); };
  const auto some_deps = [&](uint32_t r) {
    std::vector<ir::StepRef> deps;
    if (!steps[r].empty() && pick(4) == 0) deps.push_back(steps[r][pick(steps[r].size())]);
    return deps;
  };
  for (int i = 0; i < 12; ++i) {
    const uint32_t channel = pick(num_lanes);
    const uint32_t num_hops = 1 + pick(3);
    uint32_t from = pick(num_ranks);
    std::vector<std::pair<uint32_t, ir::StepRef>> written;
    for (uint32_t hop = 0, before = num_ranks; hop <= num_hops; ++hop) {
      const uint32_t to = (from + 1 + pick(num_ranks - 1)) % num_ranks;
      ir::LaneWriter& lane = lanes[from][channel];
      const std::vector<ir::StepRef> list = some_deps(from);
      const ir::After deps{std::span(list)};
      ir::StepRef step;
      if (hop == 0) {
        step = lane.send(input(0), Rank{to}, deps);
      } else if (hop == num_hops) {
        step = lane.recv(output(0), Rank{before}, deps);
      } else if (pick(2) == 0) {
        step = lane.recv_reduce_send(input(0), Rank{before}, Rank{to}, deps);
      } else {
        step = lane.recv_copy_send(output(0), Rank{before}, Rank{to}, deps);
      }
      written.emplace_back(from, step);
      before = from;
      from = to;
    }
    // Later messages may depend on these; these must not depend on each other.
    for (auto [rank, step] : written) steps[rank].push_back(step);
  }
  return std::move(b).finish();
}

// before[a][b]: by the rules of the reference page, closed under "and then".
using Relation = std::vector<std::vector<char>>;

Relation relation_by_definition(const Facts& facts, Discipline discipline) {
  const uint32_t n = facts.num_steps();
  const bool lends = discipline == Discipline::kLending;
  Relation before(n, std::vector<char>(n));
  const auto joined = [&](StepNumber s) {
    return lends && facts.step(s).kind == ir::StepKind::kRecvReduceSend;
  };
  Relation same(n, std::vector<char>(n));
  for (StepNumber s = 0; s < n; ++s) {
    same[s][s] = true;
    if (joined(s)) same[s][facts.taker(s)] = same[facts.taker(s)][s] = true;
    if (s > 0 && facts.lane_of(s) == facts.lane_of(s - 1)) before[s - 1][s] = true;
    if (facts.taker(s) != kNoStep && !joined(s)) before[s][facts.taker(s)] = true;
    const auto& program = facts.schedule().ranks[facts.rank(s).value];
    for (ir::StepRef ref : program.deps_of(facts.step(s))) {
      const StepNumber dep = facts.number(facts.rank(s), ref);
      const bool waits_for_taker = lends && facts.taker(dep) != kNoStep;
      before[waits_for_taker ? facts.taker(dep) : dep][s] = true;
    }
  }
  const auto close = [n](Relation& r) {
    for (StepNumber k = 0; k < n; ++k) {
      for (StepNumber i = 0; i < n; ++i) {
        for (StepNumber j = 0; r[i][k] && j < n; ++j) r[i][j] |= r[k][j];
      }
    }
  };
  close(same);
  // What is before one step of a moment is before all of them.
  Relation lifted(n, std::vector<char>(n));
  for (StepNumber a = 0; a < n; ++a) {
    for (StepNumber b = 0; b < n; ++b) {
      if (!before[a][b]) continue;
      for (StepNumber x = 0; x < n; ++x) {
        for (StepNumber y = 0; same[a][x] && y < n; ++y) lifted[x][y] |= same[b][y];
      }
    }
  }
  close(lifted);
  return lifted;
}

uint64_t seed() {
  const char* text = std::getenv("TUTTI_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
}

TEST(Reachability, AgreesWithItsDefinitionOnRandomSchedules) {
  int num_deadlocks = 0;
  for (uint64_t i = seed(); i < seed() + 60; ++i) {
    SCOPED_TRACE(testing::Message() << "TUTTI_SEED=" << i);
    std::mt19937_64 random(i);
    const ir::Schedule schedule =
        random_schedule(random, static_cast<uint32_t>(2 + i % 3), static_cast<uint32_t>(1 + i % 2));
    const Result<Facts> facts = Facts::collect(schedule);
    ASSERT_TRUE(facts.ok()) << facts.error().message;
    for (Discipline discipline : {Discipline::kLending, Discipline::kSlots}) {
      const Relation before = relation_by_definition(*facts, discipline);
      const EventGraph graph(*facts, discipline);
      const std::optional<Order> order = find_order(graph, Room::kCounts);
      if (!order) {
        // Only a moment of several steps can close a cycle here.
        ASSERT_EQ(discipline, Discipline::kLending);
        ++num_deadlocks;
        bool has_cycle = false;
        for (StepNumber s = 0; s < facts->num_steps(); ++s) has_cycle |= before[s][s] != 0;
        EXPECT_TRUE(has_cycle);
        continue;
      }
      Reachability reachability(graph, *order);
      for (StepNumber a = 0; a < facts->num_steps(); ++a) {
        for (StepNumber b = 0; b < facts->num_steps(); ++b) {
          ASSERT_EQ(reachability.happens_before(a, b), before[a][b] != 0) << a << " before " << b;
        }
      }
    }
  }
  EXPECT_LT(num_deadlocks, 40);
}

TEST(Reachability, FollowsTheChunksOfARingWithoutSearching) {
  constexpr uint32_t kRanks = 16;
  const ir::Schedule schedule = ring_all_reduce(kRanks);
  const Result<Facts> facts = Facts::collect(schedule);
  const EventGraph graph(*facts, Discipline::kLending);
  const std::optional<Order> order = find_order(graph, Room::kCounts);
  ASSERT_TRUE(order.has_value());
  Reachability reachability(graph, *order);
  // The sum that step k sends was taken before the result comes back, p - 1 steps later.
  for (uint32_t r = 0; r < kRanks; ++r) {
    for (uint32_t k = 1; k < kRanks - 1; ++k) {
      const StepNumber sum = facts->number(Rank{r}, {0, k});
      const StepNumber result = facts->number(Rank{r}, {0, k + kRanks});
      ASSERT_EQ(facts->step(sum).dst(), facts->step(result).dst());
      EXPECT_TRUE(reachability.happens_before(facts->taker(sum), result));
    }
  }
  EXPECT_EQ(reachability.num_searched(), 0u);
}

TEST(Order, PutsEveryEventAfterWhatItWaitsFor) {
  const ir::Schedule schedule = ring_all_reduce(5);
  const Result<Facts> facts = Facts::collect(schedule);
  for (Discipline discipline : {Discipline::kLending, Discipline::kSlots}) {
    const EventGraph graph(*facts, discipline);
    const std::optional<Order> order = find_order(graph, Room::kCounts);
    ASSERT_TRUE(order.has_value());
    EXPECT_EQ(order->events.size(), facts->num_steps());
    for (StepNumber event : order->events) {
      graph.for_each_wait(event, [&](const Wait& wait) {
        EXPECT_LT(order->position[wait.awaited], order->position[event]);
      });
    }
  }
}

TEST(Order, MeasuresTheLongestChainOfARing) {
  const ir::Schedule schedule = ring_all_reduce(5);
  const Result<Facts> facts = Facts::collect(schedule);
  const EventGraph graph(*facts, Discipline::kLending);
  // A rank's own steps: send, then 2(p-1) that receive.
  EXPECT_EQ(find_order(graph, Room::kCounts)->longest_chain, 9u);
}

TEST(EventGraph, JoinsAChainOfRecvReduceSendsWithTheStepThatKeepsTheData) {
  ir::Builder b({CollectiveKind::kReduce, 4, 3}, {.name = "chain"});
  b.add_lane(Rank{0}).send(input(0), Rank{1});
  b.add_lane(Rank{1}).recv_reduce_send(input(0), Rank{0}, Rank{2});
  b.add_lane(Rank{2}).recv_reduce_send(input(0), Rank{1}, Rank{3});
  b.add_lane(Rank{3}).recv_reduce(input(0), output(0), Rank{2});
  const ir::Schedule schedule = std::move(b).finish();
  const Result<Facts> facts = Facts::collect(schedule);
  const EventGraph lending(*facts, Discipline::kLending);
  EXPECT_EQ(lending.event_of(0), 0u);
  EXPECT_EQ(lending.event_of(1), 3u);
  EXPECT_EQ(lending.event_of(2), 3u);
  EXPECT_EQ(find_order(lending, Room::kCounts)->longest_chain, 2u);
  const EventGraph slots(*facts, Discipline::kSlots);
  EXPECT_EQ(slots.event_of(1), 1u);
  EXPECT_EQ(find_order(slots, Room::kCounts)->longest_chain, 4u);
}

}  // namespace
}  // namespace tutti::verify
