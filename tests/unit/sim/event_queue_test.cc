#include "sim/event_queue.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>
#include <string>

namespace tutti::sim {
namespace {

TEST(EventQueue, GivesTheEarliestFirstAndEqualTimesByActor) {
  EventQueue queue(4);
  queue.set(2, 5);
  queue.set(3, 1);
  queue.set(0, 5);
  EXPECT_EQ(queue.next_time(), 1);
  EXPECT_EQ(queue.pop(), 3u);
  EXPECT_EQ(queue.pop(), 0u);
  EXPECT_EQ(queue.pop(), 2u);
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, MovesAnActorWhoseTimeIsSetAgain) {
  EventQueue queue(3);
  queue.set(0, 1);
  queue.set(1, 2);
  queue.set(2, 3);
  queue.set(0, 4);
  queue.set(2, 0);
  EXPECT_EQ(queue.pop(), 2u);
  EXPECT_EQ(queue.pop(), 1u);
  EXPECT_EQ(queue.pop(), 0u);
}

TEST(EventQueue, AgreesWithASortedSetOnRandomUse) {
  const char* text = std::getenv("TUTTI_SEED");
  const uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
  SCOPED_TRACE("TUTTI_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  constexpr uint32_t kActors = 50;
  EventQueue queue(kActors);
  std::set<std::pair<double, uint32_t>> sorted;
  std::vector<double> time_of(kActors, -1);
  for (int i = 0; i < 20000; ++i) {
    if (random() % 3 != 0) {
      const auto actor = static_cast<uint32_t>(random() % kActors);
      const auto time = static_cast<double>(random() % 100);
      sorted.erase({time_of[actor], actor});
      time_of[actor] = time;
      sorted.emplace(time, actor);
      queue.set(actor, time);
    } else if (!sorted.empty()) {
      const auto [time, actor] = *sorted.begin();
      sorted.erase(sorted.begin());
      ASSERT_EQ(queue.next_time(), time);
      ASSERT_EQ(queue.pop(), actor);
    }
    ASSERT_EQ(queue.empty(), sorted.empty());
  }
}

}  // namespace
}  // namespace tutti::sim
