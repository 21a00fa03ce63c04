// Communicators made from others, ended, and shrunk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "comm/group.h"
#include "tests/unit/comm/on_ranks.h"
#include "transport/loopback/loopback.h"
#include "tutti/communicator.h"

namespace tutti {
namespace {

using test::on_ranks;
using testing::AllOf;
using testing::HasSubstr;

int64_t sum_over(Communicator& comm, int64_t own) {
  std::vector<int64_t> data(100, own);
  comm.all_reduce(std::span(data)).wait().value();
  return data[99];
}

TEST(Split, GroupsByColorInOrderOfKey) {
  on_ranks(7, [](Communicator& comm) {
    const auto rank = static_cast<int64_t>(comm.rank());
    Communicator third = comm.split(rank % 3, -rank).value();
    // 0 3 6, 1 4, 2 5; the keys turn them round.
    EXPECT_EQ(third.num_ranks(), rank % 3 == 0 ? 3u : 2u);
    EXPECT_EQ(third.rank(), third.num_ranks() - 1 - comm.rank() / 3);
    const int64_t sums[] = {0 + 3 + 6, 1 + 4, 2 + 5};
    EXPECT_EQ(sum_over(third, rank), sums[rank % 3]);
    Communicator same = comm.split(5, 0).value();
    EXPECT_EQ(same.rank(), comm.rank());
    EXPECT_EQ(sum_over(same, 1), 7);
  });
}

TEST(Split, MayBeDoneAgainAndGivesAnotherCommunicator) {
  on_ranks(2, [](Communicator& comm) {
    Communicator one = comm.split(0, 0).value();
    Communicator two = comm.split(0, 0).value();
    std::vector<int64_t> a(10, 1);
    std::vector<int64_t> b(10, 10);
    // Opposite orders: if the two were one, 1 would meet 10.
    Work works;
    for (int i = 0; i < 2; ++i) {
      const bool first = (i == 0) == (comm.rank() == 0);
      works += first ? one.all_reduce(std::span(a)) : two.all_reduce(std::span(b));
    }
    ASSERT_TRUE(works.wait());
    EXPECT_EQ(a[0], 2);
    EXPECT_EQ(b[0], 20);
  });
}

TEST(Duplicates, HaveNamesOfTheirOwn) {
  on_ranks(3, [](Communicator& comm) {
    Communicator copy = comm.duplicate().value();
    std::vector<int64_t> a(2000, 1);
    std::vector<int64_t> b(2000, 10);
    Work first = copy.all_reduce(std::span(b), {.name = "x"});
    Work second = comm.all_reduce(std::span(a), {.name = "x"});
    ASSERT_TRUE(first.wait());
    ASSERT_TRUE(second.wait());
    EXPECT_EQ(a[0], 3);
    EXPECT_EQ(b[0], 30);
  });
}

// Small broadcasts are over at the root before anybody has read them.
TEST(Communicators, MayGoBeforeTheirPeersHaveReadEverything) {
  on_ranks(3, [](Communicator& comm) {
    for (int i = 0; i < 50; ++i) {
      Communicator copy = comm.duplicate().value();
      std::vector<int64_t> data(4000, comm.rank());
      ASSERT_TRUE(copy.broadcast(std::span(data)).wait());
      ASSERT_EQ(data[3999], 0);
    }
    ASSERT_TRUE(comm.barrier().wait());
  });
}

// Rows, columns and the whole of a grid of ranks, used at once, each rank in its own order.
TEST(Communicators, MayOverlapInAnyWay) {
  on_ranks(6, [](Communicator& comm) {
    Communicator row = comm.split(comm.rank() / 3, 0).value();
    Communicator column = comm.split(comm.rank() % 3, 0).value();
    Communicator* const groups[] = {&row, &column, &comm};
    std::vector<std::vector<int64_t>> data(9, std::vector<int64_t>(3000, 1));
    Work works;
    for (uint32_t i = 0; i < 9; ++i) {
      const uint32_t which = (i + comm.rank() * 4) % 9;
      works +=
          groups[which % 3]->all_reduce(std::span(data[which]), {.name = std::to_string(which)});
    }
    ASSERT_TRUE(works.wait());
    for (uint32_t i = 0; i < 9; ++i) {
      ASSERT_EQ(data[i][2999], static_cast<int64_t>(groups[i % 3]->num_ranks()));
    }
  });
}

TEST(Abort, EndsWhatIsUnderWayAndWhatComesLaterOnEveryRank) {
  on_ranks(3, [](Communicator& comm) {
    Communicator other = comm.duplicate().value();
    std::vector<float> data(4000, 1);
    std::vector<float> got(10);
    Work waits;
    if (comm.rank() != 2) waits = comm.all_reduce(std::span(data), {.name = "without rank 2"});
    Work to_self = comm.recv(std::span(got), comm.rank());
    ASSERT_TRUE(other.barrier().wait());
    if (comm.rank() == 2) {
      comm.abort();
      comm.abort();
    } else {
      const Status status = waits.wait();
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code, ErrorCode::kAborted);
      EXPECT_THAT(status.error().message,
                  AllOf(HasSubstr("rank 2 aborted the communicator"), HasSubstr("4000 float32")));
    }
    EXPECT_THAT(to_self.wait().error().message, HasSubstr("rank 2 aborted the communicator"));
    EXPECT_EQ(comm.send(std::span(got), comm.rank()).wait().error().code, ErrorCode::kAborted);
    comm.abort();
    EXPECT_EQ(comm.barrier().wait().error().code, ErrorCode::kAborted);
    EXPECT_EQ(comm.split(0, 0).error().code, ErrorCode::kAborted);
    EXPECT_EQ(sum_over(other, 1), 3);
  });
}

TEST(Abort, ReachesARankThatOnlyWaits) {
  on_ranks(2, [](Communicator& comm) {
    std::vector<float> data(100);
    if (comm.rank() == 0) {
      const Status status = comm.recv(std::span(data), 1).wait();
      EXPECT_EQ(status.error().code, ErrorCode::kAborted);
    } else {
      comm.abort();
    }
  });
}

TEST(Shrink, OfALivingCommunicatorHasAllOfIt) {
  on_ranks(4, [](Communicator& comm) {
    comm.abort();
    Communicator again = comm.shrink().value();
    EXPECT_EQ(again.num_ranks(), 4u);
    EXPECT_EQ(again.rank(), comm.rank());
    EXPECT_EQ(sum_over(again, 1), 4);
  });
}

// Ranks 1 and 4 are lost: to some before they call, to others while they shrink.
TEST(Shrink, LeavesOutTheDeadOnAllAlike) {
  const uint32_t num_ranks = 6;
  auto loopback = transport::Loopback::create(num_ranks).value();
  std::vector<Rank> members;
  for (uint32_t r = 0; r < num_ranks; ++r) members.emplace_back(r);
  std::vector<std::thread> threads;
  for (const uint32_t rank : {0u, 2u, 3u, 5u}) {
    threads.emplace_back([&, rank] {
      auto node = std::make_shared<comm::Node>(loopback, loopback->endpoint(Rank{rank}));
      Communicator comm(std::make_shared<comm::Group>(node, 1, members));
      const auto lose_both = [&] {
        node->engine.lose(Rank{1}, "it never was there");
        node->engine.lose(Rank{4}, "it never was there");
      };
      std::thread later;
      if (rank == 3) {
        lose_both();
      } else {
        later = std::thread(lose_both);
      }
      Communicator rest = comm.shrink().value();
      EXPECT_EQ(rest.num_ranks(), 4u);
      const uint32_t places[] = {0, 0, 1, 2, 0, 3};
      EXPECT_EQ(rest.rank(), places[rank]);
      EXPECT_EQ(sum_over(rest, rank), 0 + 2 + 3 + 5);
      EXPECT_TRUE(rest.barrier().wait());
      if (later.joinable()) later.join();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Shrink, GivesUpOnARankThatLivesAndDoesNotCall) {
  on_ranks(2, [](Communicator& comm) {
    if (comm.rank() == 1) return;
    const auto shrunk = comm.shrink({.deadline = std::chrono::milliseconds(10)});
    ASSERT_FALSE(shrunk.ok());
    EXPECT_EQ(shrunk.error().code, ErrorCode::kDeadline);
  });
}

}  // namespace
}  // namespace tutti
