#include "trace/event_ring.h"

#include <gtest/gtest.h>

#include <thread>

namespace tutti::trace {
namespace {

// An event whose fields all follow from its number, so that a mixture of two is seen.
Event numbered(uint64_t n) {
  Event e;
  e.begin = static_cast<int64_t>(n);
  e.end = static_cast<int64_t>(n + 1);
  e.bytes = ~n;
  e.rank = static_cast<uint32_t>(n * 3);
  e.lane = static_cast<uint32_t>(n * 5);
  e.step = static_cast<uint32_t>(n * 7);
  e.peer = static_cast<uint32_t>(n * 11);
  e.peer_lane = static_cast<uint32_t>(n * 13);
  e.peer_step = static_cast<uint32_t>(n * 17);
  e.call = static_cast<uint32_t>(n * 19);
  e.op = static_cast<Op>(n % kNumOps);
  return e;
}

TEST(EventRing, RoundsItsCapacityUpToAPowerOfTwo) {
  EXPECT_EQ(EventRing(1).capacity(), 1u);
  EXPECT_EQ(EventRing(3).capacity(), 4u);
  EXPECT_EQ(EventRing(64).capacity(), 64u);
}

TEST(EventRing, GivesNothingBeforeTheFirstPush) {
  const EventRing ring(4);
  EventRing::Cursor cursor;
  std::vector<Event> events;
  ring.collect(cursor, events);
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(cursor.num_lost, 0u);
}

TEST(EventRing, GivesEachReaderEveryEventOnceAndInOrder) {
  EventRing ring(8);
  EventRing::Cursor cursor;
  EventRing::Cursor late;
  std::vector<Event> events;
  for (uint64_t n = 0; n < 7; ++n) {
    ring.push(numbered(n));
    if (n % 3 == 0) ring.collect(cursor, events);
  }
  ASSERT_EQ(events.size(), 7u);
  for (uint64_t n = 0; n < 7; ++n) EXPECT_EQ(events[n], numbered(n));
  std::vector<Event> all;
  ring.collect(late, all);
  EXPECT_EQ(all, events);
  EXPECT_EQ(late.num_lost + cursor.num_lost, 0u);
}

TEST(EventRing, OverwritesTheOldestAndCountsWhatWasLost) {
  EventRing ring(4);
  for (uint64_t n = 0; n < 11; ++n) ring.push(numbered(n));
  EventRing::Cursor cursor;
  std::vector<Event> events;
  ring.collect(cursor, events);
  EXPECT_EQ(cursor.num_lost, 7u);
  ASSERT_EQ(events.size(), 4u);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(events[i], numbered(7 + i));
  EXPECT_EQ(ring.num_pushed(), 11u);
}

TEST(EventRing, NeverGivesHalfAnEventToAReaderThatRunsAlong) {
  constexpr uint64_t kEvents = 200000;
  EventRing ring(16);
  std::thread producer([&] {
    for (uint64_t n = 0; n < kEvents; ++n) ring.push(numbered(n));
  });
  EventRing::Cursor cursor;
  std::vector<Event> events;
  // Liveness: the producer never waits, so the cursor reaches the last event.
  while (cursor.next < kEvents) ring.collect(cursor, events);
  producer.join();
  EXPECT_EQ(events.size() + cursor.num_lost, kEvents);
  int64_t previous = -1;
  for (const Event& event : events) {
    ASSERT_GT(event.begin, previous);
    ASSERT_EQ(event, numbered(static_cast<uint64_t>(event.begin)));
    previous = event.begin;
  }
}

}  // namespace
}  // namespace tutti::trace
