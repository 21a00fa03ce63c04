// That no plan can stand still: ranks, streams and waits for the device are played through, each
// rank as far as it comes, until all have ended or nobody moves.
#include "tools/chaos/device_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace tutti::tools::chaos {
namespace {

Settings device_settings(Pattern pattern, uint32_t num_ranks, uint64_t seed) {
  Settings settings;
  settings.on_gpu = true;
  settings.pattern = pattern;
  settings.num_ranks = num_ranks;
  settings.num_collectives = 24;
  settings.seed = seed;
  settings.num_waits = 8;
  return completed(settings).value();
}

// What is to be done by all ranks in one batch.
class Play {
 public:
  Play(const Settings& settings, Order order, uint64_t round = 0)
      : settings_(settings), workload_(make_workload(settings)) {
    const Batch batch{round, 0, settings.num_collectives, order};
    for (uint32_t r = 0; r < settings.num_ranks; ++r) {
      plans_.push_back(make_device_plan(settings, workload_, r, batch));
      for (const DeviceWait wait : plans_[r].waits_at_end) {
        plans_[r].acts.push_back({.wait = wait});
      }
      plans_[r].waits_at_end.clear();
    }
  }

  [[nodiscard]] std::vector<DevicePlan>& plans() { return plans_; }
  [[nodiscard]] const Workload& workload() const { return workload_; }

  // Whether all ranks come to the end of their plans, and all tasks are done.
  [[nodiscard]] bool can_end() {
    std::vector<size_t> next(plans_.size());
    for (bool moves = true; moves;) {
      moves = false;
      for (uint32_t r = 0; r < plans_.size(); ++r) {
        while (next[r] < plans_[r].acts.size() && goes_on(r, plans_[r].acts[next[r]])) {
          ++next[r];
          moves = true;
        }
      }
      moves = do_tasks() || moves;
    }
    for (uint32_t r = 0; r < plans_.size(); ++r) {
      if (next[r] < plans_[r].acts.size() || !is_idle(r)) return false;
    }
    return true;
  }

 private:
  bool goes_on(uint32_t rank, const Act& act) {
    if (!act.wait) {
      streams_[{rank, act.stream}].push_back(act.task);
      return true;
    }
    if (!settings_.threads) return is_idle(rank);
    // Threads wait for the streams of all.
    for (uint32_t r = 0; r < plans_.size(); ++r) {
      if (!is_idle(r)) return false;
    }
    return true;
  }
  [[nodiscard]] bool is_idle(uint32_t rank) const {
    return std::all_of(streams_.begin(), streams_.end(), [&](const auto& stream) {
      return stream.first.first != rank || stream.second.empty();
    });
  }
  // A task is done when it is the first one of a stream of each member.
  bool do_tasks() {
    std::map<uint32_t, size_t> num_first;
    for (const auto& [where, tasks] : streams_) {
      if (!tasks.empty()) ++num_first[tasks.front()];
    }
    bool moves = false;
    for (auto& [where, tasks] : streams_) {
      if (tasks.empty()) continue;
      const Task& task = workload_.tasks[tasks.front()];
      if (num_first[task.index] != workload_.groups[task.group].size()) continue;
      tasks.erase(tasks.begin());
      moves = true;
    }
    return moves;
  }

  const Settings& settings_;
  Workload workload_;
  std::vector<DevicePlan> plans_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> streams_;  // by rank and stream
};

TEST(DevicePlan, NoPlanStandsStill) {
  for (const Pattern pattern : kPatterns) {
    for (const uint32_t num_ranks : {1U, 2U, 3U, 8U}) {
      for (uint64_t seed = 0; seed < 25; ++seed) {
        for (const bool threads : {false, true}) {
          Settings settings = device_settings(pattern, num_ranks, seed);
          settings.threads = threads;
          for (const Order order : {Order::kAny, Order::kOne}) {
            EXPECT_TRUE(Play(settings, order, seed).can_end())
                << to_string(pattern) << ", " << num_ranks << " ranks, seed " << seed
                << (threads ? ", threads" : "");
          }
        }
      }
    }
  }
}

TEST(DevicePlan, AWaitWhereOthersHaveToGoOnFirstWouldStandStill) {
  const Settings settings = device_settings(Pattern::kLatin, 2, 1);
  Play play(settings, Order::kAny);
  for (DevicePlan& plan : play.plans()) {
    plan.acts.insert(plan.acts.begin() + 1, {.wait = DeviceWait::kSynchronize});
  }
  // Both ranks wait for a task that the other has not enqueued: the play can tell.
  EXPECT_FALSE(play.can_end());
}

TEST(DevicePlan, TasksOfAStreamInAnotherOrderThanOnOtherRanksWouldStandStill) {
  Settings settings = device_settings(Pattern::kLatin, 2, 1);
  settings.num_groups = 1;
  Play play(settings, Order::kAny);
  for (DevicePlan& plan : play.plans()) {
    for (Act& act : plan.acts) act.stream = 0;
  }
  EXPECT_FALSE(play.can_end());
}

TEST(DevicePlan, EachRankEnqueuesEachOfItsTasksOnce) {
  for (const Pattern pattern : kPatterns) {
    const Settings settings = device_settings(pattern, 5, 3);
    Play play(settings, Order::kAny);
    for (uint32_t r = 0; r < settings.num_ranks; ++r) {
      std::multiset<uint32_t> seen;
      for (const Act& act : play.plans()[r].acts) {
        if (act.wait) continue;
        seen.insert(act.task);
        EXPECT_LT(act.stream, settings.num_streams);
      }
      std::multiset<uint32_t> wanted;
      for (const Task& task : play.workload().tasks) {
        const auto& members = play.workload().groups[task.group];
        if (std::count(members.begin(), members.end(), r) != 0) wanted.insert(task.index);
      }
      EXPECT_EQ(seen, wanted) << to_string(pattern) << " rank " << r;
    }
  }
}

TEST(DevicePlan, NoTwoRanksOfALatinSquareHaveATaskAtTheSamePlace) {
  Settings settings = device_settings(Pattern::kLatin, 8, 5);
  settings.num_groups = 1;  // all ranks are in it
  Play play(settings, Order::kAny);
  for (uint32_t place = 0; place < settings.num_collectives; ++place) {
    std::set<uint32_t> tasks;
    for (DevicePlan& plan : play.plans()) tasks.insert(plan.acts[place].task);
    EXPECT_EQ(tasks.size(), settings.num_ranks) << "place " << place;
  }
}

TEST(DevicePlan, RanksDifferInTheirOrders) {
  const Settings settings = device_settings(Pattern::kRandom, 4, 6);
  Play play(settings, Order::kAny);
  std::set<std::vector<uint32_t>> orders;
  for (const DevicePlan& plan : play.plans()) {
    std::vector<uint32_t> order;
    for (const Act& act : plan.acts) order.push_back(act.task);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), settings.num_ranks);
}

TEST(DevicePlan, OneOrderIsTheSameOnAllRanks) {
  Settings settings = device_settings(Pattern::kRandom, 4, 7);
  settings.num_groups = 1;
  Play play(settings, Order::kOne);
  std::set<std::vector<uint32_t>> orders;
  for (const DevicePlan& plan : play.plans()) {
    std::vector<uint32_t> order;
    for (const Act& act : plan.acts) {
      if (!act.wait) order.push_back(act.task);
    }
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 1U);
}

TEST(DevicePlan, ThreadsWaitForTheDeviceOnlyWhenAllHasBeenEnqueued) {
  Settings settings = device_settings(Pattern::kRandom, 4, 8);
  settings.threads = true;
  const Workload workload = make_workload(settings);
  size_t num_waits = 0;
  for (uint32_t r = 0; r < settings.num_ranks; ++r) {
    const DevicePlan plan =
        make_device_plan(settings, workload, r, {0, 0, settings.num_collectives, Order::kAny});
    for (const Act& act : plan.acts) EXPECT_FALSE(act.wait.has_value());
    num_waits += plan.waits_at_end.size();
  }
  EXPECT_GT(num_waits, 0U);
}

TEST(DeviceSettings, WhatCannotBeOnAGpuIsRefused) {
  const auto refused = [](Settings settings) {
    settings.on_gpu = true;
    return !completed(settings).ok();
  };
  EXPECT_TRUE(refused({.kill = true}));
  EXPECT_TRUE(refused({.num_issuers = 2}));
  EXPECT_TRUE(refused({.num_ranks = 65}));
  EXPECT_TRUE(refused({.pattern = Pattern::kLatin, .num_streams = 1}));
  EXPECT_FALSE(refused({.num_streams = 1}));
  // Threads share the connections of their process.
  EXPECT_TRUE(refused({.num_ranks = 8, .pattern = Pattern::kLatin, .threads = true}));
  EXPECT_FALSE(refused({.num_ranks = 7, .pattern = Pattern::kLatin, .threads = true}));
  EXPECT_FALSE(refused({.num_ranks = 8, .pattern = Pattern::kLatin}));
  EXPECT_FALSE(refused({.num_ranks = 8, .threads = true}));
}

TEST(DeviceSettings, TheCommandThatRepeatsARunSaysWhereItRan) {
  Settings settings = device_settings(Pattern::kLatin, 4, 9);
  settings.num_streams = 3;
  const std::vector<std::string> words = command_of(settings);
  const std::vector<std::string> tail(words.end() - 6, words.end());
  EXPECT_EQ(tail, (std::vector<std::string>{"--device", "cuda", "--streams", "3", "--waits", "8"}));
}

}  // namespace
}  // namespace tutti::tools::chaos
