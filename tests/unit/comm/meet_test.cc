// Jobs that ranks form by themselves: here of threads; tests/jobs has one of processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tutti/communicator.h"

namespace tutti {
namespace {

using testing::HasSubstr;

// A rank that a test puts at a place.
struct Coming {
  uint32_t rank;
  uint32_t num_ranks;
};

std::vector<Result<Communicator>> let_meet(
    const std::string& place, const std::vector<Coming>& coming,
    std::chrono::nanoseconds deadline = std::chrono::minutes(2)) {
  std::vector<Result<Communicator>> met(coming.size(), Error{ErrorCode::kNotFound, "not yet"});
  std::vector<std::thread> threads;
  for (size_t i = 0; i < coming.size(); ++i) {
    threads.emplace_back([&, i] {
      met[i] =
          Communicator::meet(place, coming[i].rank, coming[i].num_ranks, {.deadline = deadline});
    });
  }
  for (std::thread& thread : threads) thread.join();
  return met;
}

std::vector<Communicator> all_of(const std::string& place, uint32_t num_ranks) {
  std::vector<Coming> coming;
  for (uint32_t r = 0; r < num_ranks; ++r) coming.push_back({r, num_ranks});
  std::vector<Communicator> ranks;
  for (auto& met : let_meet(place, coming)) ranks.push_back(std::move(met).value());
  return ranks;
}

std::string new_place() { return Communicator::make_meeting_place().value(); }

// What is left of a job goes when the last has left, which nobody waits for.
void await_gone(const std::string& place) {
  // Liveness: all ranks have let go; ctest's time limit ends a failed test.
  while (std::filesystem::exists(place)) std::this_thread::yield();
}

TEST(Meet, PlacesAreDifferentShortAndNotThereYet) {
  const std::string one = new_place();
  const std::string other = new_place();
  EXPECT_NE(one, other);
  EXPECT_LE(one.size(), 100);
  EXPECT_FALSE(std::filesystem::exists(one));
}

TEST(Meet, ThreadsThatNameOnePlaceAreRanksOfOneJob) {
  for (const uint32_t num_ranks : {1U, 2U, 3U, 5U}) {
    const std::string place = new_place();
    auto ranks = all_of(place, num_ranks);
    std::vector<std::thread> threads;
    for (uint32_t r = 0; r < num_ranks; ++r) {
      threads.emplace_back([&, r] {
        EXPECT_EQ(ranks[r].rank(), r);
        EXPECT_EQ(ranks[r].num_ranks(), num_ranks);
        std::vector<int64_t> data(20'000, r + 1);
        ASSERT_TRUE(ranks[r].all_reduce(std::span(data)).wait());
        EXPECT_EQ(data, std::vector<int64_t>(20'000, num_ranks * (num_ranks + 1) / 2));
      });
    }
    for (std::thread& thread : threads) thread.join();
    ranks.clear();
    await_gone(place);
  }
}

TEST(Meet, SeveralJobsAtOnceDoNotMeet) {
  auto one = all_of(new_place(), 2);
  auto other = all_of(new_place(), 2);
  int64_t to_one = 1;
  int64_t to_other = 2;
  int64_t at_one = 0;
  int64_t at_other = 0;
  Work all = other[0].send(std::span(&to_other, 1), 1);
  all += one[0].send(std::span(&to_one, 1), 1);
  all += one[1].recv(std::span(&at_one, 1), 0);
  all += other[1].recv(std::span(&at_other, 1), 0);
  ASSERT_TRUE(all.wait());
  EXPECT_EQ(at_one, 1);
  EXPECT_EQ(at_other, 2);
}

// Also if one thread lets go of all of them, one after the other.
TEST(Meet, ARankMayLeaveWhileItsMessageIsUnderWay) {
  const std::string place = new_place();
  auto ranks = all_of(place, 3);
  std::optional<Communicator> receiver = ranks[2];
  const int64_t sent = 42;
  ASSERT_TRUE(ranks[1].send(std::span(&sent, 1), 2).wait());
  ranks.clear();
  int64_t got = 0;
  ASSERT_TRUE(receiver->recv(std::span(&got, 1), 1).wait());
  EXPECT_EQ(got, 42);
  // The sender is there as long as somebody could want something from it.
  EXPECT_TRUE(std::filesystem::exists(place + "/status.1"));
  receiver.reset();
  await_gone(place);
}

TEST(Meet, PartsOutliveTheWhole) {
  const std::string place = new_place();
  auto ranks = all_of(place, 2);
  std::vector<Communicator> copies;
  for (Communicator& rank : ranks) copies.push_back(rank.duplicate().value());
  ranks.clear();
  std::vector<int64_t> data{1, 2};
  Work all = copies[0].all_reduce(std::span(&data[0], 1));
  all += copies[1].all_reduce(std::span(&data[1], 1));
  ASSERT_TRUE(all.wait());
  EXPECT_EQ(data, (std::vector<int64_t>{3, 3}));
  copies.clear();
  await_gone(place);
}

TEST(Meet, AnAbortedJobIsLeftAtOnce) {
  const std::string place = new_place();
  auto ranks = all_of(place, 2);
  std::optional<Communicator> stays = ranks[1];
  ranks[0].abort();
  ranks.clear();
  await_gone(place);  // although rank 1 has not let go
  const auto status = stays->barrier().wait();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kAborted);
}

TEST(Meet, TheDeadlineNamesWhoIsMissing) {
  const std::string place = new_place();
  const auto met = let_meet(place, {{0, 4}, {2, 4}}, std::chrono::milliseconds(200));
  ASSERT_FALSE(met[0].ok());
  EXPECT_EQ(met[0].error().code, ErrorCode::kDeadline);
  EXPECT_THAT(met[0].error().message, HasSubstr("missing are the ranks 1, 3"));
  EXPECT_FALSE(met[1].ok());
  EXPECT_FALSE(std::filesystem::exists(place));
}

TEST(Meet, WithoutRankZeroNobodyMeets) {
  const std::string place = new_place();
  const auto met = let_meet(place, {{1, 2}}, std::chrono::milliseconds(50));
  ASSERT_FALSE(met[0].ok());
  EXPECT_EQ(met[0].error().code, ErrorCode::kDeadline);
  EXPECT_THAT(met[0].error().message, HasSubstr("rank 0 did not come"));
  EXPECT_FALSE(std::filesystem::exists(place));
}

TEST(Meet, WrongNumbersAreRefused) {
  const std::string place = new_place();
  for (const Coming wrong : {Coming{0, 0}, Coming{2, 2}, Coming{UINT32_MAX, 2}}) {
    const auto met = let_meet(place, {wrong});
    ASSERT_FALSE(met[0].ok());
    EXPECT_EQ(met[0].error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_FALSE(std::filesystem::exists(place));
}

TEST(Meet, TwoThatSayTheyAreOneRankAreRefused) {
  const auto met = let_meet(new_place(), {{0, 3}, {1, 3}, {1, 3}}, std::chrono::seconds(30));
  ASSERT_FALSE(met[0].ok());
  EXPECT_EQ(met[0].error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(met[0].error().message, HasSubstr("both say that they are rank 1"));
  EXPECT_FALSE(met[1].ok());
  EXPECT_FALSE(met[2].ok());
}

TEST(Meet, RanksMustAgreeOnTheirNumber) {
  const auto met = let_meet(new_place(), {{0, 2}, {1, 3}}, std::chrono::seconds(30));
  ASSERT_FALSE(met[0].ok());
  EXPECT_EQ(met[0].error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(met[1].ok());
}

TEST(Meet, OnlyPlacesThatWereMadeForItServe) {
  for (const std::string place : {"", "/tmp", "tutti-run-0", "/tmp/tutti-run-0/deeper"}) {
    const auto met = Communicator::meet(place, 0, 2);
    ASSERT_FALSE(met.ok()) << place;
    EXPECT_EQ(met.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(met.error().message, HasSubstr("no meeting place"));
  }
}

}  // namespace
}  // namespace tutti
