// What must hold for any schedule on any topology, tried on the whole catalogue.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plan/algorithm.h"
#include "tests/unit/sim/machines.h"
#include "trace/trace.h"

namespace tutti::sim {
namespace {

struct Trial {
  ir::Schedule schedule;
  topo::Topology topology;
  Options options;
  std::string name;
};

// Every algorithm for a few rank counts, both disciplines, on a star whose sharing matters, with
// odd sizes, late and slow ranks and costs that are not zero.
std::vector<Trial> all_trials() {
  std::vector<Trial> trials;
  for (const plan::Algorithm& algorithm : plan::algorithms()) {
    for (const uint32_t p : {2u, 3u, 7u, 8u}) {
      Collective collective{.kind = algorithm.kind, .num_ranks = p};
      if (is_rooted(algorithm.kind)) collective.root = p / 2;
      if (algorithm.kind == CollectiveKind::kSendRecv) collective.peer = 0;
      Result<ir::Schedule> schedule = plan::make(collective, algorithm.name, {});
      EXPECT_TRUE(schedule) << algorithm.name << ": " << schedule.error().message;
      if (!schedule) continue;
      for (const Discipline discipline : {Discipline::kLending, Discipline::kSlots}) {
        Options options{.bytes = 100003, .discipline = discipline};
        options.start_skew = {{Rank{p - 1}, 333}};
        options.slow_ranks = {{Rank{0}, 1.5}};
        options.step_overhead_ns = 3;
        options.copy_gbps = 100;
        trials.push_back({*schedule, star(p), options,
                          std::string(to_string(algorithm.kind)) + " " +
                              std::string(algorithm.name) + " of " + std::to_string(p) +
                              (discipline == Discipline::kSlots ? " slots" : " lending")});
        for (topo::Node& node : trials.back().topology.nodes) node.reduce_gbps = 40;
      }
    }
  }
  return trials;
}

TEST(EveryAlgorithm, FinishesAndIsNoFasterThanTheBound) {
  for (const Trial& trial : all_trials()) {
    const Report report = simulated(trial.schedule, trial.topology, trial.options);
    EXPECT_GE(report.ratio, 1) << trial.name;
    EXPECT_EQ(report.total_ns,
              *std::max_element(report.rank_finish_ns.begin(), report.rank_finish_ns.end()))
        << trial.name;
  }
}

TEST(EveryAlgorithm, HasACriticalPathWithoutGaps) {
  for (const Trial& trial : all_trials()) {
    const Report report = simulated(trial.schedule, trial.topology, trial.options);
    double at = 0;
    for (const Slice& slice : report.critical_path) {
      ASSERT_EQ(slice.begin_ns, at) << trial.name;
      ASSERT_GT(slice.end_ns, slice.begin_ns) << trial.name;
      at = slice.end_ns;
      // Nothing waits on the path but a rank that has not started.
      if (slice.kind == SliceKind::kWait) {
        EXPECT_EQ(slice.begin_ns, 0) << trial.name;
        EXPECT_LE(slice.end_ns, 333) << trial.name;
      }
    }
    EXPECT_EQ(at, report.total_ns) << trial.name;
  }
}

TEST(EveryAlgorithm, MovesTheBytesOfItsMessagesOverTwoLinksEach) {
  for (const Trial& trial : all_trials()) {
    const Report report = simulated(trial.schedule, trial.topology, trial.options);
    double bytes = 0;
    for (const LinkUse& link : report.links) {
      bytes += link.bytes;
      EXPECT_LE(link.utilisation, 1 + 1e-9) << trial.name;
      EXPECT_LE(link.busy_ns, report.total_ns) << trial.name;
    }
    EXPECT_EQ(bytes, 2 * report.message_bytes) << trial.name;
  }
}

TEST(EveryAlgorithm, IsSimulatedTheSameTwice) {
  for (const Trial& trial : all_trials()) {
    const Report a = simulated(trial.schedule, trial.topology, trial.options);
    const Report b = simulated(trial.schedule, trial.topology, trial.options);
    EXPECT_EQ(a.rank_finish_ns, b.rank_finish_ns) << trial.name;
    EXPECT_EQ(a.rank_wait_ns, b.rank_wait_ns) << trial.name;
  }
}

TEST(EveryAlgorithm, TracesEveryStepAndEveryMessageOnce) {
  for (const Trial& trial : all_trials()) {
    trace::Trace trace;
    Options options = trial.options;
    options.trace = &trace;
    const Report report = simulated(trial.schedule, trial.topology, options);
    uint64_t steps = 0;
    uint64_t messages = 0;
    uint64_t bytes = 0;
    int64_t end = 0;
    for (const trace::Event& event : trace.events) {
      ASSERT_LE(event.begin, event.end) << trial.name;
      steps += event.kind == trace::EventKind::kStep ? 1 : 0;
      if (event.kind == trace::EventKind::kMessage) {
        ++messages;
        bytes += event.bytes;
      }
      end = std::max(end, event.end);
    }
    EXPECT_EQ(steps, report.num_steps) << trial.name;
    EXPECT_EQ(messages, report.num_messages) << trial.name;
    EXPECT_EQ(static_cast<double>(bytes), report.message_bytes) << trial.name;
    EXPECT_EQ(end, std::llround(report.total_ns * trace.ticks_per_ns)) << trial.name;
    EXPECT_EQ(trace.schedule, trial.schedule.name);
  }
}

TEST(EveryAlgorithm, HasStepsOfALaneThatDoNotOverlapInItsTrace) {
  for (const Trial& trial : all_trials()) {
    trace::Trace trace;
    Options options = trial.options;
    options.trace = &trace;
    simulated(trial.schedule, trial.topology, options);
    std::vector<std::vector<int64_t>> lane_end;
    for (const ir::RankProgram& rank : trial.schedule.ranks) {
      lane_end.emplace_back(rank.lanes.size(), 0);
    }
    for (const trace::Event& event : trace.events) {
      if (event.kind != trace::EventKind::kStep) continue;
      int64_t& last = lane_end[event.rank][event.lane];
      ASSERT_GE(event.begin, last) << trial.name;
      last = event.end;
    }
  }
}

}  // namespace
}  // namespace tutti::sim
