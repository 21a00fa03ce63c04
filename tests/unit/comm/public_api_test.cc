#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tutti/tutti.h"

namespace tutti {
namespace {

using testing::HasSubstr;

const Collective kAllReduce4{CollectiveKind::kAllReduce, 4, 0, 0};

TEST(PublicApi, PlansProvesAndTimesACollective) {
  const auto machine = Topology::open("ring:4@1GB/s,1000ns").value();
  EXPECT_EQ(machine.num_ranks(), 4u);
  const auto schedule = Schedule::plan(kAllReduce4, "ring").value();
  EXPECT_EQ(schedule.algorithm(), "ring");
  EXPECT_EQ(schedule.collective(), kAllReduce4);
  const auto proved = schedule.verify().value();
  const auto simulation = simulate(proved, machine, {.bytes = 4000}).value();
  EXPECT_DOUBLE_EQ(simulation.time_ns, 6 * (1000 + 1000));
  EXPECT_EQ(simulation.num_messages, 24u);
  EXPECT_EQ(simulation.rank_finish_ns.size(), 4u);
  EXPECT_LE(simulation.lower_bound_ns, simulation.time_ns);
}

TEST(PublicApi, ChoosesTheFastestAndSaysWhy) {
  const auto machine = Topology::open("dgx-1v").value();
  const Collective broadcast{CollectiveKind::kBroadcast, machine.num_ranks(), 2, 0};
  const auto small = Schedule::plan_fastest(broadcast, machine, 8).value();
  EXPECT_THAT(small.reason, HasSubstr(small.schedule.algorithm()));
  EXPECT_GT(small.time_ns, 0);
  EXPECT_TRUE(small.schedule.verify().ok());
}

TEST(PublicApi, ReadsBackWhatItWrote) {
  const auto schedule = Schedule::plan(kAllReduce4, "double_tree", {.chunks = 2}).value();
  EXPECT_EQ(Schedule::parse(schedule.to_json(), "a").value().to_json(), schedule.to_json());
  const std::string xml = schedule.to_msccl_xml().value();
  EXPECT_EQ(Schedule::parse(xml, "b").value().to_json(), schedule.to_json());
  EXPECT_TRUE(schedule.to_mscclpp_json().ok());
}

TEST(PublicApi, RefusesAWrongScheduleByName) {
  std::string text = Schedule::plan(kAllReduce4, "ring").value().to_json();
  const std::string right = "\"src\": \"input[1]\", \"to\": 2";
  text.replace(text.find(right), right.size(), "\"src\": \"input[2]\", \"to\": 2");
  const auto verdict = Schedule::parse(text, "c").value().verify();
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().code, ErrorCode::kRefused);
  EXPECT_THAT(verdict.error().message, HasSubstr("rank 2 lane 0 step"));
}

TEST(PublicApi, RefusesWhatCannotBe) {
  EXPECT_EQ(Schedule::plan(kAllReduce4, "nonsense").error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(Schedule::plan({CollectiveKind::kAllReduce, 0, 0, 0}, "ring").ok());
  EXPECT_EQ(Schedule::read("/nowhere").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(Schedule::parse("{", "d").error().code, ErrorCode::kMalformed);
  EXPECT_FALSE(Topology::open("dgx-99").ok());
}

TEST(PublicApi, TakesPartOfAMachine) {
  const auto part = Topology::open("dgx-1v").value().subset({0, 1, 4, 6}).value();
  EXPECT_EQ(part.num_ranks(), 4u);
  EXPECT_FALSE(part.subset({4}).ok());
  EXPECT_THAT(part.describe(), HasSubstr("4 ranks"));
  EXPECT_THAT(part.to_json(), HasSubstr("tutti-topology"));
}

TEST(PublicApi, ListsEveryAlgorithmWithItsIdeaAndCost) {
  EXPECT_EQ(algorithms().size(), 41u);
  for (const AlgorithmInfo& algorithm : algorithms()) {
    EXPECT_FALSE(algorithm.idea.empty());
    EXPECT_FALSE(algorithm.cost.empty());
  }
}

}  // namespace
}  // namespace tutti
