#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "plan/algorithm.h"

namespace tutti::plan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Collective kBroadcastOf8{.kind = CollectiveKind::kBroadcast, .num_ranks = 8};

std::vector<std::string> names_of(CollectiveKind kind) {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.kind == kind) names.emplace_back(algorithm.name);
  }
  return names;
}

TEST(Catalogue, HasEveryAlgorithmByTheNameOfTheCommandLine) {
  EXPECT_THAT(names_of(CollectiveKind::kAllReduce),
              ElementsAre("ring", "recursive_doubling", "rabenseifner", "double_tree", "one_shot",
                          "two_shot", "pull", "pull_all", "two_level"));
  EXPECT_THAT(names_of(CollectiveKind::kReduce),
              ElementsAre("binomial", "reduce_scatter_gather", "chain", "pull", "spread"));
  EXPECT_THAT(
      names_of(CollectiveKind::kBroadcast),
      ElementsAre("binomial", "chain", "scatter_all_gather", "double_tree", "direct", "spread"));
  EXPECT_THAT(names_of(CollectiveKind::kAllGather),
              ElementsAre("ring", "recursive_doubling", "bruck", "neighbor_exchange", "direct"));
  EXPECT_THAT(names_of(CollectiveKind::kReduceScatter),
              ElementsAre("ring", "recursive_halving", "pairwise", "direct", "pull"));
  EXPECT_THAT(names_of(CollectiveKind::kAllToAll),
              ElementsAre("pairwise", "bruck", "two_level", "direct"));
  EXPECT_THAT(names_of(CollectiveKind::kGather), ElementsAre("direct", "binomial"));
  EXPECT_THAT(names_of(CollectiveKind::kScatter), ElementsAre("direct", "binomial"));
  EXPECT_THAT(names_of(CollectiveKind::kBarrier), ElementsAre("dissemination", "direct"));
  EXPECT_THAT(names_of(CollectiveKind::kSendRecv), ElementsAre("direct"));
}

TEST(Catalogue, IsGroupedByCollective) {
  for (size_t i = 1; i < algorithms().size(); ++i) {
    EXPECT_LE(algorithms()[i - 1].kind, algorithms()[i].kind) << "entry " << i;
  }
}

TEST(Catalogue, EntriesExplainThemselves) {
  for (const Algorithm& algorithm : algorithms()) {
    SCOPED_TRACE(algorithm.name);
    EXPECT_TRUE(algorithm.idea.ends_with('.')) << algorithm.idea;
    EXPECT_THAT(std::string(algorithm.cost), HasSubstr("alpha"));
    ASSERT_NE(algorithm.make, nullptr);
  }
}

TEST(Catalogue, SchedulesHaveTheNameOfTheirEntry) {
  for (const Algorithm& algorithm : algorithms()) {
    const Collective collective{.kind = algorithm.kind, .num_ranks = 4};
    const Result<ir::Schedule> schedule = make(collective, algorithm.name, {});
    ASSERT_TRUE(schedule.ok()) << algorithm.name << ": " << schedule.error().message;
    EXPECT_EQ(schedule->name, algorithm.name);
    EXPECT_EQ(schedule->collective, collective);
  }
}

TEST(Catalogue, PlansTheSameScheduleTwice) {
  for (const Algorithm& algorithm : algorithms()) {
    const Collective collective{.kind = algorithm.kind, .num_ranks = 7};
    EXPECT_EQ(make(collective, algorithm.name, {}).value(),
              make(collective, algorithm.name, {}).value());
  }
}

TEST(Catalogue, ListsWhatExistsWhenANameDoesNot) {
  const auto found = find_algorithm(CollectiveKind::kBroadcast, "ring");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(found.error().message,
            "broadcast has no algorithm \"ring\"; it has: binomial, chain, scatter_all_gather, "
            "double_tree, direct, spread");
}

TEST(Catalogue, RefusesAnOptionThatIsNotTakenAndSaysWhoTakesIt) {
  const auto chunks = make(kBroadcastOf8, "binomial", {.chunks = 4});
  ASSERT_FALSE(chunks.ok());
  EXPECT_EQ(chunks.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(chunks.error().message,
            "broadcast binomial does not take chunks; of the algorithms of broadcast these do: "
            "chain, double_tree");

  const auto radix = make(kBroadcastOf8, "chain", {.radix = 2});
  ASSERT_FALSE(radix.ok());
  EXPECT_EQ(radix.error().message,
            "broadcast chain does not take radix; of the algorithms of broadcast none does");

  const auto group_size = make(kBroadcastOf8, "chain", {.group_size = 2});
  ASSERT_FALSE(group_size.ok());
  EXPECT_THAT(group_size.error().message, HasSubstr("does not take group_size"));
}

TEST(Catalogue, RefusesMoreThan65536Chunks) {
  const Collective of_two{.kind = CollectiveKind::kBroadcast, .num_ranks = 2};
  EXPECT_TRUE(make(of_two, "chain", {.chunks = 65536}).ok());
  const auto refused = make(of_two, "chain", {.chunks = 65537});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("65537"), HasSubstr("at most 65536")));
}

TEST(Catalogue, TakesZeroChunksForItsDefault) {
  EXPECT_EQ(make(kBroadcastOf8, "chain", {}).value(),
            make(kBroadcastOf8, "chain", {.chunks = 8}).value());
}

TEST(Catalogue, RefusesACollectiveThatCannotBe) {
  const auto no_ranks = make({.kind = CollectiveKind::kBroadcast, .num_ranks = 0}, "binomial", {});
  ASSERT_FALSE(no_ranks.ok());
  EXPECT_EQ(no_ranks.error().code, ErrorCode::kInvalidArgument);
  const auto bad_root =
      make({.kind = CollectiveKind::kReduce, .num_ranks = 3, .root = 3}, "binomial", {});
  ASSERT_FALSE(bad_root.ok());
  EXPECT_THAT(bad_root.error().message, HasSubstr("root 3"));
}

TEST(Catalogue, RefusesARootOrPeerWhereThereIsNone) {
  const auto root =
      make({.kind = CollectiveKind::kBarrier, .num_ranks = 3, .root = 1}, "dissemination", {});
  ASSERT_FALSE(root.ok());
  EXPECT_EQ(root.error().message, "barrier has no root, but 1 is given");
  const auto peer =
      make({.kind = CollectiveKind::kReduce, .num_ranks = 3, .root = 1, .peer = 2}, "chain", {});
  ASSERT_FALSE(peer.ok());
  EXPECT_EQ(peer.error().message, "reduce has no peer, but 2 is given");
}

}  // namespace
}  // namespace tutti::plan
