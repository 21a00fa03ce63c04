// The queue alone, with tasks that do nothing: what it promises holds for every short history, and
// for long random ones.
#include "engine/task_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "tests/support/sanitized.h"

namespace tutti::engine {
namespace {

using test::kSanitized;
using testing::ElementsAre;

constexpr size_t kTasks = 3;

// Tasks 0, 1 and 2 have stamps 2, 1 and 1.
struct World {
  explicit World(Patience most) : queue(most) {
    for (size_t i = 0; i < kTasks; ++i) queue.start(tasks[i], i, i == 0 ? 2 : 1);
  }
  void add(std::initializer_list<size_t> which, bool agreed = true) {
    for (const size_t i : which) {
      if (agreed) queue.agree(tasks[i]);
      queue.add(tasks[i]);
    }
  }
  [[nodiscard]] size_t number_of(const Task* task) const {
    return static_cast<size_t>(task - tasks.data());
  }
  // The next so many turns, each of which moves or does not.
  std::vector<size_t> turns(size_t num, bool moved) {
    std::vector<size_t> out;
    for (size_t i = 0; i < num; ++i) {
      out.push_back(number_of(queue.next()));
      queue.ran(*queue.next(), moved);
    }
    return out;
  }
  [[nodiscard]] std::vector<size_t> order() const {
    std::vector<size_t> out;
    for (const Task* task = queue.first(); task != nullptr; task = task->behind) {
      out.push_back(number_of(task));
    }
    return out;
  }

  TaskQueue queue;
  std::array<Task, kTasks> tasks;
};

TEST(TaskQueue, IsInTheOrderOfStampsAndThenOfIds) {
  World world({1, 0});
  world.add({0, 2, 1});
  EXPECT_THAT(world.order(), ElementsAre(1, 2, 0));
}

TEST(TaskQueue, TasksThatAreNotAgreedStandBehindAsTheyCame) {
  World world({1, 0});
  world.add({2, 1}, false);
  world.add({0});
  EXPECT_THAT(world.order(), ElementsAre(0, 2, 1));
  world.queue.agree(world.tasks[1]);
  EXPECT_THAT(world.order(), ElementsAre(1, 0, 2));
  world.queue.agree(world.tasks[2]);
  EXPECT_THAT(world.order(), ElementsAre(1, 2, 0));
}

TEST(TaskQueue, StampsMayWrapAround) {
  World world({1, 0});
  world.tasks[1].stamp = UINT32_MAX;
  world.tasks[2].stamp = UINT32_MAX - 1;
  world.add({0, 1, 2});
  EXPECT_THAT(world.order(), ElementsAre(2, 1, 0));
}

TEST(TaskQueue, AddingLooksAtABoundedNumberOfTasks) {
  TaskQueue queue({1, 0});
  std::vector<Task> tasks(TaskQueue::kLookBack + 2);
  for (size_t i = 0; i < tasks.size(); ++i) {
    queue.start(tasks[i], i, i + 1 < tasks.size() ? 10 : 5);
    queue.agree(tasks[i]);
    queue.add(tasks[i]);
  }
  EXPECT_EQ(tasks.back().before, &tasks.front());
}

TEST(TaskQueue, ATaskThatMovesKeepsTheTurnForItsPatience) {
  World world({4, 0});
  world.add({1, 2, 0}, false);
  EXPECT_THAT(world.turns(9, true), ElementsAre(1, 1, 1, 1, 1, 1, 1, 1, 2));
}

TEST(TaskQueue, ATaskThatWaitsIsLeftAtOnceOrAfterItsLooks) {
  World at_once({4, 0});
  at_once.add({1, 2, 0}, false);
  EXPECT_THAT(at_once.turns(6, false), ElementsAre(1, 1, 2, 0, 1, 2));
  World later({2, 1});
  later.add({1, 2, 0}, false);
  EXPECT_THAT(later.turns(3, false), ElementsAre(1, 1, 1));
  EXPECT_EQ(later.tasks[1].patience, 1u);
}

TEST(TaskQueue, PatienceIsHalvedByWaitingAndDoubledByMoving) {
  World world({8, 0});
  world.add({1}, false);
  const auto after = [&](bool moved, size_t turns) {
    world.turns(turns, moved);
    return world.tasks[1].patience;
  };
  EXPECT_EQ(after(false, 2), 2u);
  EXPECT_EQ(after(false, 5), 1u);
  EXPECT_EQ(after(true, 1), 2u);
  EXPECT_EQ(after(true, 2 + 4), 8u);
  EXPECT_EQ(after(true, 8 + 8), 8u);
}

TEST(TaskQueue, TheFirstHasATenureAfterEachThatMoved) {
  World world({1, 0});
  world.add({1, 2, 0});
  world.turns(3, false);
  EXPECT_THAT(world.turns(6, true), ElementsAre(0, 1, 1, 2, 1, 0));
}

TEST(TaskQueue, WhatTheCallerWaitsForIsTheFavouriteInsteadOfTheFirst) {
  World world({1, 0});
  world.add({1, 2, 0});
  world.turns(3, false);
  world.queue.want(&world.tasks[0]);
  EXPECT_THAT(world.turns(6, true), ElementsAre(0, 1, 0, 2, 0, 0));
  world.queue.remove(world.tasks[0]);
  world.queue.want(&world.tasks[0]);  // it is not there any more
  EXPECT_THAT(world.turns(4, true), ElementsAre(1, 2, 1, 1));
}

TEST(TaskQueue, OnlyLeavingATaskThatMovedForOneThatMovesIsASwitch) {
  World world({2, 0});
  world.add({1, 2}, false);
  Task& a = world.tasks[1];
  Task& b = world.tasks[2];
  for (int i = 0; i < 5; ++i) world.turns(1, false);
  EXPECT_EQ(world.queue.switches(), 0u);
  world.queue.ran(a, true);
  world.queue.ran(b, false);
  world.queue.ran(a, true);
  EXPECT_EQ(a.switches + b.switches, 0u);
  world.queue.ran(b, true);
  EXPECT_EQ(a.switches, 1u);
  world.queue.remove(b);
  world.queue.end(b);
  world.queue.ran(a, true);
  EXPECT_EQ(b.switches, 0u);
  EXPECT_EQ(world.queue.switches(), 1u);
}

// What must hold after anything that was done to a queue; empty: it does.
std::string complaint_about(const World& world) {
  const TaskQueue& queue = world.queue;
  size_t size = 0;
  const Task* before = nullptr;
  for (const Task* task = queue.first(); task != nullptr; before = task, task = task->behind) {
    if (++size > kTasks || !task->is_in_line || task->before != before) return "links";
    if (before == nullptr || !task->is_agreed) continue;
    if (!before->is_agreed) return "an agreed task behind one that is not";
    const bool is_ordered =
        before->stamp < task->stamp || (before->stamp == task->stamp && before->id < task->id);
    if (!is_ordered) return "order";
  }
  if (size != queue.size()) return "size";
  if ((queue.next() == nullptr) != (size == 0)) return "nobody has the turn, or somebody of none";
  if (size != 0 && !queue.next()->is_in_line) return "the turn is with one that has left";
  return "";
}

// Adds or removes a task, agrees on it, wants it, or gives a turn.
constexpr uint32_t kActions = 3 * kTasks + 2;
void act(World& world, uint32_t action) {
  TaskQueue& queue = world.queue;
  if (action >= 3 * kTasks) {
    if (queue.next() != nullptr) queue.ran(*queue.next(), action == 3 * kTasks);
    return;
  }
  Task& task = world.tasks[action / 3];
  switch (action % 3) {
    case 0: task.is_in_line ? queue.remove(task) : queue.add(task); return;
    case 1: queue.agree(task); return;
    case 2: queue.want(&task); return;
  }
}

TEST(TaskQueue, EveryShortHistoryLeavesItWhole) {
  const uint32_t length = kSanitized ? 4 : 6;
  uint64_t num = 1;
  for (uint32_t i = 0; i < length; ++i) num *= kActions;
  for (uint64_t history = 0; history < num; ++history) {
    World world({2, 1});
    uint64_t rest = history;
    for (uint32_t i = 0; i < length; ++i, rest /= kActions) {
      act(world, static_cast<uint32_t>(rest % kActions));
    }
    ASSERT_EQ(complaint_about(world), "") << "history " << history;
  }
}

TEST(TaskQueue, LongRandomHistoriesLeaveItWholeAndSwitchNoMoreThanTheyMove) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    World world({4, 2});
    std::array<uint32_t, kTasks> moves{};
    for (int i = 0; i < (kSanitized ? 500 : 5000); ++i) {
      const auto action = static_cast<uint32_t>(random() % kActions);
      if (action == 3 * kTasks && world.queue.next() != nullptr) {
        ++moves[world.number_of(world.queue.next())];
      }
      act(world, action);
      ASSERT_EQ(complaint_about(world), "") << "seed " << seed << " action " << i;
    }
    uint64_t sum = 0;
    for (size_t t = 0; t < kTasks; ++t) {
      sum += world.tasks[t].switches;
      EXPECT_LE(world.tasks[t].switches, moves[t]) << "seed " << seed;
    }
    EXPECT_EQ(sum, world.queue.switches()) << "seed " << seed;
    EXPECT_GT(sum, 0u);
  }
}

// The longest time, in turns, that a task had none, in a history of turns that move or do not.
size_t longest_wait(World& world, uint32_t outcomes, uint32_t length) {
  std::array<size_t, kTasks> waits{};
  size_t longest = 0;
  for (uint32_t i = 0; i < length; ++i) {
    Task& task = *world.queue.next();
    world.queue.ran(task, (outcomes >> i & 1) != 0);
    for (size_t& wait : waits) longest = std::max(longest, ++wait);
    waits[world.number_of(&task)] = 0;
  }
  return longest;
}

// Whatever moves and whatever waits, and whoever is the favourite.
TEST(TaskQueue, NoTaskStarves) {
  const uint32_t length = 14;
  for (const Patience most : {Patience{1, 0}, Patience{2, 0}, Patience{1, 1}}) {
    const size_t bound = 2 * kTasks * most.turns * (1 + most.looks);
    for (uint32_t outcomes = 0; outcomes < 1u << length; ++outcomes) {
      for (size_t wanted = 0; wanted <= kTasks; ++wanted) {
        World world(most);
        world.add({0, 1, 2});
        if (wanted < kTasks) world.queue.want(&world.tasks[wanted]);
        ASSERT_LE(longest_wait(world, outcomes, length), bound) << outcomes << " " << wanted;
      }
    }
  }
}

}  // namespace
}  // namespace tutti::engine
