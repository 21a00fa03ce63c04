// What every transport of one host promises, whether its ranks are threads or processes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/shm_ranks.h"
#include "transport/heap_memory.h"
#include "transport/loopback/loopback.h"

namespace tutti::transport {
namespace {

constexpr size_t kSegmentBytes = size_t{1} << 20;

// The endpoints of all ranks of a job, and what keeps their memory.
struct Job {
  std::vector<std::shared_ptr<void>> kept;
  std::vector<std::unique_ptr<Endpoint>> ends;

  [[nodiscard]] Endpoint& operator[](uint32_t rank) const { return *ends[rank]; }
};

Job loopback_job(uint32_t num_ranks) {
  auto loopback = Loopback::create(num_ranks, kSegmentBytes).value();
  Job job;
  for (uint32_t r = 0; r < num_ranks; ++r) {
    job.ends.push_back(std::make_unique<Endpoint>(loopback->endpoint(Rank{r})));
  }
  job.kept.push_back(std::move(loopback));
  return job;
}

// All ranks in this process, each with maps of its own.
Job shm_job(uint32_t num_ranks) {
  Job job;
  for (auto& shm : test::shm_ranks(num_ranks, kSegmentBytes)) {
    job.ends.push_back(std::make_unique<Endpoint>(shm->endpoint()));
    job.kept.push_back(std::move(shm));
  }
  return job;
}

struct Transport {
  const char* name;
  std::function<Job(uint32_t)> make;
};

class Conformance : public testing::TestWithParam<Transport> {
 protected:
  static Job make(uint32_t num_ranks) { return GetParam().make(num_ranks); }
};

void put(RingWriter& ring, uint64_t number, std::string_view text = {}) {
  Record* const record = ring.reserve();
  ASSERT_NE(record, nullptr);
  record->header = {number, {}, 0, 0, static_cast<uint16_t>(text.size())};
  if (!text.empty()) std::memcpy(record->payload.data(), text.data(), text.size());
  ring.publish(RecordKind::kPacket);
}

TEST_P(Conformance, KnowsItsRanks) {
  const Job job = make(3);
  for (uint32_t r = 0; r < 3; ++r) {
    EXPECT_EQ(job[r].self(), Rank{r});
    EXPECT_EQ(job[r].num_ranks(), 3u);
  }
}

TEST_P(Conformance, CarriesRecordsBetweenAnyTwoInOrder) {
  const Job job = make(3);
  for (uint32_t from = 0; from < 3; ++from) {
    for (uint32_t to = 0; to < 3; ++to) {
      if (from == to) continue;
      for (uint64_t i = 0; i < 5; ++i) put(job[from].to(Rank{to}), 100 * from + i, "hello");
      RingReader& ring = job[to].from(Rank{from});
      for (uint64_t i = 0; i < 5; ++i) {
        ASSERT_EQ(ring.peek(), RecordKind::kPacket);
        EXPECT_EQ(ring.record().header.operation, 100 * from + i);
        EXPECT_EQ(std::memcmp(ring.record().payload.data(), "hello", 5), 0);
        ring.pop(RecordKind::kPacket);
      }
      EXPECT_FALSE(ring.peek());
    }
  }
}

TEST_P(Conformance, IsFullAfterOneLapAndHasRoomWhenRecordsWereTaken) {
  const Job job = make(2);
  RingWriter& writer = job[0].to(Rank{1});
  RingReader& reader = job[1].from(Rank{0});
  for (uint32_t lap = 0; lap < 3; ++lap) {
    for (uint32_t i = 0; i < kRingSlots; ++i) put(writer, i);
    EXPECT_EQ(writer.reserve(), nullptr);
    for (uint32_t i = 0; i < kRingSlots; ++i) {
      ASSERT_TRUE(reader.peek());
      EXPECT_EQ(reader.record().header.operation, i);
      reader.pop(RecordKind::kPacket);
    }
    EXPECT_FALSE(reader.peek());
    EXPECT_NE(writer.reserve(), nullptr);
  }
}

TEST_P(Conformance, CarriesWidePacketsBetweenOthers) {
  const Job job = make(2);
  RingWriter& writer = job[0].to(Rank{1});
  RingReader& reader = job[1].from(Rank{0});
  std::vector<std::byte> message(kWideBytes);
  uint64_t sent = 0;
  uint64_t taken = 0;
  for (int round = 0; round < 10; ++round) {
    uint32_t num_wide = 0;
    for (; writer.has_wide_room(); ++sent, ++num_wide) {
      message.assign(kWideBytes, static_cast<std::byte>(sent % 251));
      writer.reserve()->header = {sent, {}, 0, 0, kWideBytes};
      writer.publish_wide(job[0].wide_slots().put({sent, 0}, message.data(), kWideBytes));
      if (sent % 3 == 0 && writer.reserve() != nullptr) put(writer, ++sent, "narrow");
    }
    EXPECT_EQ(num_wide, kWideSlots);
    for (; reader.peek(); ++taken) {
      const RecordKind kind = *reader.peek();
      ASSERT_EQ(reader.record().header.operation, taken);
      const std::byte* const data = reader.payload(kind);
      if (kind == RecordKind::kPacket) {
        EXPECT_EQ(std::memcmp(data, "narrow", 6), 0);
      } else {
        EXPECT_EQ(data[0], static_cast<std::byte>(taken % 251));
        EXPECT_EQ(data[kWideBytes - 1], static_cast<std::byte>(taken % 251));
      }
      reader.pop(kind);
    }
    EXPECT_EQ(taken, sent);
  }
}

// Rank 1 takes what it gets, rank 2 nothing: the slots that rank 2 holds are not written again, and
// rank 1 finds as many as ever.
TEST_P(Conformance, WidePacketsToOneDoNotWaitForAnother) {
  const Job job = make(3);
  std::vector<std::byte> message(kWideBytes);
  const auto send = [&](uint64_t number, std::initializer_list<uint32_t> to) {
    message.assign(kWideBytes, static_cast<std::byte>(number));
    for (const uint32_t peer : to) {
      RingWriter& writer = job[0].to(Rank{peer});
      ASSERT_TRUE(writer.has_wide_room()) << number;
      writer.reserve()->header = {number, {}, 0, 0, kWideBytes};
      writer.publish_wide(job[0].wide_slots().put({number, 0}, message.data(), kWideBytes));
    }
  };
  const auto expect_next = [&](uint32_t rank, uint64_t number) {
    RingReader& reader = job[rank].from(Rank{0});
    ASSERT_EQ(reader.peek(), RecordKind::kWide) << number;
    EXPECT_EQ(reader.record().header.operation, number);
    const std::byte* const data = reader.payload(RecordKind::kWide);
    EXPECT_EQ(data[0], static_cast<std::byte>(number));
    EXPECT_EQ(data[kWideBytes - 1], static_cast<std::byte>(number));
    reader.pop(RecordKind::kWide);
  };
  for (uint64_t number = 1; number <= kWideSlots; ++number) {
    send(number, {1, 2});
    expect_next(1, number);
  }
  EXPECT_FALSE(job[0].to(Rank{2}).has_wide_room());
  for (uint64_t number = 100; number < 200; ++number) {
    send(number, {1});
    expect_next(1, number);
  }
  for (uint64_t number = 1; number <= kWideSlots; ++number) expect_next(2, number);
  EXPECT_TRUE(job[0].to(Rank{2}).has_wide_room());
}

TEST_P(Conformance, WhatGoesToSeveralIsWrittenOnce) {
  const Job job = make(3);
  WideSlots& slots = job[0].wide_slots();
  const std::vector<std::byte> message(kWideBytes);
  const auto put = [&](WideSlots::Message what) {
    const uint32_t slot = slots.put(what, message.data(), kWideBytes);
    slots.hold(slot);  // as a ring does
    return slot;
  };
  std::set<uint32_t> used = {put({7, 3})};
  EXPECT_EQ(used.count(put({7, 3})), 1u);
  EXPECT_TRUE(used.insert(put({7, 4})).second);
  EXPECT_TRUE(used.insert(put({7, WideSlots::Message::kOnce})).second);
  EXPECT_TRUE(used.insert(put({7, WideSlots::Message::kOnce})).second);
  EXPECT_TRUE(used.insert(put({8, 3})).second);
  slots.forget();
  EXPECT_TRUE(used.insert(put({8, 3})).second);
}

TEST_P(Conformance, TellsWhoIsFarAhead) {
  const Job job = make(2);
  RingWriter& writer = job[0].to(Rank{1});
  RingReader& reader = job[1].from(Rank{0});
  const auto send_and_take = [&](uint64_t num) {
    for (uint64_t i = 0; i < num; ++i) {
      put(writer, i);
      ASSERT_TRUE(reader.peek());
      reader.pop(RecordKind::kPacket);
    }
  };
  reader.say_kept(kFarAhead + 1);
  send_and_take(kFarAhead / kMostWeight / 2);
  EXPECT_FALSE(writer.is_far_ahead());  // more than was sent: nonsense
  send_and_take(kFarAhead);
  EXPECT_TRUE(writer.is_far_ahead());
  reader.say_kept(kFarAhead);
  EXPECT_FALSE(writer.is_far_ahead());
  reader.say_kept(kFarAhead + 1);
  send_and_take(2 * uint64_t{kRingSlots});
  EXPECT_TRUE(writer.is_far_ahead());
  writer.close();
  EXPECT_FALSE(writer.is_far_ahead());
}

TEST_P(Conformance, CarriesRecordsWhileBothRun) {
  constexpr uint64_t kRecords = 20'000;
  const Job job = make(2);
  std::thread sender([&] {
    RingWriter& ring = job[0].to(Rank{1});
    for (uint64_t i = 0; i < kRecords; ++i) {
      while (ring.reserve() == nullptr)
        std::this_thread::yield();  // Liveness: the reader reads all.
      put(ring, i, "x");
    }
  });
  RingReader& ring = job[1].from(Rank{0});
  for (uint64_t i = 0; i < kRecords; ++i) {
    while (!ring.peek()) std::this_thread::yield();  // Liveness: the sender sends all.
    ASSERT_EQ(ring.record().header.operation, i);
    ring.pop(RecordKind::kPacket);
  }
  sender.join();
}

TEST_P(Conformance, ReadsWhatAPeerNames) {
  const Job job = make(2);
  std::byte* const block = job[0].arena().allocate(1000);
  for (int i = 0; i < 1000; ++i) block[i] = static_cast<std::byte>(i);
  const RemoteAddress name = job[0].name(block);
  EXPECT_EQ(name.space, RemoteAddress::kSegment);
  const std::byte* const seen = job[1].reach(Rank{0}, name, 1000).value();
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(std::memcmp(seen, block, 1000), 0);
}

TEST_P(Conformance, RefusesWhatIsNotInThePeersSegment) {
  const Job job = make(2);
  const RemoteAddress end{RemoteAddress::kSegment, uint64_t{1} << 40};
  EXPECT_EQ(job[1].reach(Rank{0}, end, 1).error().code, ErrorCode::kMalformed);
  const RemoteAddress begin{RemoteAddress::kSegment, 0};
  EXPECT_EQ(job[1].reach(Rank{0}, begin, uint64_t{1} << 40).error().code, ErrorCode::kMalformed);
  const RemoteAddress wraps{RemoteAddress::kSegment, UINT64_MAX - 10};
  EXPECT_EQ(job[1].reach(Rank{0}, wraps, 100).error().code, ErrorCode::kMalformed);
}

// Memory of the caller's own is read in place or pulled.
TEST_P(Conformance, GetsMemoryThatIsNotInASegment) {
  const Job job = make(2);
  std::vector<int> numbers(100'000);
  std::iota(numbers.begin(), numbers.end(), 7);
  const uint64_t bytes = numbers.size() * sizeof(int);
  const RemoteAddress name = job[0].name(numbers.data());
  EXPECT_EQ(name.space, RemoteAddress::kPrivate);
  const std::byte* const direct = job[1].reach(Rank{0}, name, bytes).value();
  EXPECT_EQ(direct != nullptr, job[1].is_one_process());
  std::vector<int> copy(numbers.size());
  if (direct != nullptr) {
    std::memcpy(copy.data(), direct, bytes);
  } else {
    ASSERT_TRUE(job[1].pull(Rank{0}, reinterpret_cast<std::byte*>(copy.data()), name, bytes));
  }
  EXPECT_EQ(copy, numbers);
}

TEST_P(Conformance, ReadsThePeersHeapWhereItLies) {
  const Job job = make(2);
  std::byte* const block = job[0].heap().map().value() + 5000;
  for (int i = 0; i < 1000; ++i) block[i] = static_cast<std::byte>(i);
  EXPECT_TRUE(job[0].is_shared(block, 1000));
  const RemoteAddress name = job[0].name(block, 1000);
  EXPECT_EQ(name.space, RemoteAddress::kHeap);
  EXPECT_EQ(name.value, 5000u);
  const std::byte* const seen = job[1].reach(Rank{0}, name, 1000).value();
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(std::memcmp(seen, block, 1000), 0);
  if (job[1].is_one_process()) return;  // nothing is pulled there
  std::vector<std::byte> copy(1000);
  ASSERT_TRUE(job[1].pull(Rank{0}, copy.data(), name, 1000));
  EXPECT_EQ(std::memcmp(copy.data(), block, 1000), 0);
}

TEST_P(Conformance, RefusesWhatIsNotInThePeersHeap) {
  const Job job = make(2);
  const uint64_t bytes = job[0].heap().bytes();
  for (const uint64_t offset : {bytes, bytes - 99, UINT64_MAX - 10}) {
    const RemoteAddress address{RemoteAddress::kHeap, offset};
    EXPECT_EQ(job[1].reach(Rank{0}, address, 100).error().code, ErrorCode::kMalformed);
  }
  EXPECT_TRUE(job[1].reach(Rank{0}, {RemoteAddress::kHeap, bytes - 100}, 100).ok());
}

// What begins in the heap and ends elsewhere is memory like any other.
TEST_P(Conformance, DoesNotTakeForTheHeapWhatReachesBeyondIt) {
  const Job job = make(2);
  const std::byte* const last = job[0].heap().map().value() + job[0].heap().bytes() - 1;
  EXPECT_EQ(job[0].name(last, 1).space, RemoteAddress::kHeap);
  EXPECT_EQ(job[0].name(last, 2).space, RemoteAddress::kPrivate);
  EXPECT_EQ(job[0].is_shared(last, 2), job[0].is_one_process());
}

TEST_P(Conformance, SaysThatMemoryCannotBePulled) {
  const Job job = make(2);
  if (job[1].is_one_process()) return;  // nothing is pulled there
  std::byte byte{};
  const RemoteAddress nowhere{RemoteAddress::kPrivate, 16};
  const Status status = job[1].pull(Rank{0}, &byte, nowhere, 1);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
}

TEST_P(Conformance, WakesASleeper) {
  const Job job = make(2);
  for (int i = 0; i < 50; ++i) {
    std::atomic<bool> is_ready{false};
    std::thread sleeper([&] {
      const uint32_t ticket = job[1].prepare_sleep();
      is_ready.store(true);
      // Liveness: the bell rings after the ticket was drawn, whether it is asleep yet or not.
      job[1].sleep(ticket, UINT64_MAX / 2);
    });
    while (!is_ready.load()) std::this_thread::yield();  // Liveness: the sleeper sets it.
    job[0].wake(Rank{1});
    sleeper.join();
  }
}

// A peer that says it has taken more than was sent cannot make us overwrite what it did not take.
TEST(Ring, TreatsAReceiptThatIsNonsenseAsFull) {
  auto ring = std::make_unique<RingMemory>();
  Receipt receipt{};
  WideSlots wide({});
  RingWriter writer(ring.get(), &receipt, &wide);
  for (uint32_t i = 0; i < kRingSlots; ++i) put(writer, i);
  for (const uint64_t nonsense : {uint64_t{kRingSlots} + 1, UINT64_MAX, uint64_t{1} << 63}) {
    receipt.taken.store(nonsense);
    EXPECT_EQ(writer.reserve(), nullptr) << nonsense;
  }
  receipt.taken.store(1);
  EXPECT_NE(writer.reserve(), nullptr);
}

// What is sent to a rank that is gone waits for nothing.
TEST(Ring, HasRoomForEverWhenClosed) {
  auto ring = std::make_unique<RingMemory>();
  Receipt receipt{};
  WideSlots wide({});
  RingWriter writer(ring.get(), &receipt, &wide);
  for (uint32_t i = 0; i < kRingSlots; ++i) put(writer, i);
  EXPECT_EQ(writer.reserve(), nullptr);
  writer.close();
  for (uint32_t i = 0; i < 3 * kRingSlots; ++i) put(writer, i);
}

INSTANTIATE_TEST_SUITE_P(All, Conformance,
                         testing::Values(Transport{"loopback", loopback_job},
                                         Transport{"shm", shm_job}),
                         [](const auto& transport) { return std::string(transport.param.name); });

}  // namespace
}  // namespace tutti::transport
