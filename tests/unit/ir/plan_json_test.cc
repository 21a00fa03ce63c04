#include "ir/msccl/plan_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ir/plan_replay.h"
#include "tests/unit/ir/schedules.h"

namespace tutti::ir::msccl {
namespace {

using nlohmann::json;
using test::PlanAliasing;
using testing::HasSubstr;

bool sayable(CollectiveKind kind) {
  return kind != CollectiveKind::kGather && kind != CollectiveKind::kScatter &&
         kind != CollectiveKind::kBarrier && kind != CollectiveKind::kSendRecv;
}

// Every algorithm, every placement it claims, several random orders of the thread blocks.
TEST(PlanJson, EveryAlgorithmComputesItsCollective) {
  const uint64_t seed = test::seed_or(11);
  SCOPED_TRACE(fmt::format("TUTTI_SEED={}", seed));
  for (const auto& [name, schedule] : test::catalogue({1, 2, 3, 5, 8})) {
    if (!sayable(schedule.collective.kind)) continue;
    const Result<std::string> text = to_plan_json(schedule);
    ASSERT_TRUE(text) << name << ": " << text.error().message;
    const json plan = json::parse(*text);
    for (PlanAliasing aliasing : {PlanAliasing::kOutOfPlace, PlanAliasing::kInPlace}) {
      const Placement refused =
          aliasing == PlanAliasing::kOutOfPlace ? Placement::kInPlace : Placement::kOutOfPlace;
      if (schedule.placement == refused) continue;
      for (uint64_t run = 0; run < 2; ++run) {
        EXPECT_EQ(test::replay_plan(plan, schedule, aliasing, seed + run), "") << name;
      }
    }
  }
}

TEST(PlanJson, TheReplayNoticesAWaitThatIsMissing) {
  const Schedule ring = plan::make({CollectiveKind::kAllReduce, 3, 0, 0}, "ring", {}).value();
  json plan = json::parse(to_plan_json(ring).value());
  auto& ops = plan["gpus"][1]["threadblocks"][0]["ops"];
  for (auto op = ops.begin(); op != ops.end(); ++op) {
    if ((*op)["name"] != "wait") continue;
    ops.erase(op);
    break;
  }
  bool noticed = false;
  for (uint64_t seed = 0; seed < 20 && !noticed; ++seed) {
    noticed = !test::replay_plan(plan, ring, PlanAliasing::kOutOfPlace, seed).empty();
  }
  EXPECT_TRUE(noticed);
}

TEST(PlanJson, TheReplayNoticesANopThatIsMissing) {
  const Schedule ring = plan::make({CollectiveKind::kAllReduce, 3, 0, 0}, "ring", {}).value();
  json plan = json::parse(to_plan_json(ring).value());
  auto& ops = plan["gpus"][0]["threadblocks"][0]["ops"];
  for (auto op = ops.begin(); op != ops.end(); ++op) {
    if ((*op)["name"] != "nop") continue;
    ops.erase(op);
    break;
  }
  EXPECT_THAT(test::replay_plan(plan, ring, PlanAliasing::kOutOfPlace, 1), HasSubstr("no nop"));
}

TEST(PlanJson, ARecvIntoUntouchedMemoryLandsThereAndNeedsNoScratch) {
  const Schedule direct = plan::make({CollectiveKind::kAllGather, 4, 0, 0}, "direct", {}).value();
  const json plan = json::parse(to_plan_json(direct).value());
  for (const json& gpu : plan["gpus"]) EXPECT_EQ(gpu["scratch_chunks"], 0);
}

TEST(PlanJson, LongLanesGoOnInFurtherThreadBlocks) {
  const Schedule ring = plan::make({CollectiveKind::kAllReduce, 16, 0, 0}, "ring", {}).value();
  const json plan = json::parse(to_plan_json(ring).value());
  EXPECT_GT(plan["gpus"][0]["threadblocks"].size(), ring.ranks[0].lanes.size());
  EXPECT_EQ(test::replay_plan(plan, ring, PlanAliasing::kOutOfPlace, 1), "");
}

TEST(PlanJson, ManyPeersAreSplitOverThreadBlocks) {
  const Schedule one = plan::make({CollectiveKind::kAllReduce, 10, 0, 0}, "one_shot", {}).value();
  const json plan = json::parse(to_plan_json(one).value());
  EXPECT_EQ(test::replay_plan(plan, one, PlanAliasing::kOutOfPlace, 1), "");
}

TEST(PlanJson, DependenciesAcrossLanesAreSemaphores) {
  Builder b({CollectiveKind::kAllReduce, 1, 0, 0}, {.name = "lanes", .chunks_per_block = 3});
  LaneWriter x = b.add_lane(Rank{0});
  LaneWriter y = b.add_lane(Rank{0});
  b.add_scratch(Rank{0}, kAnyChunk);
  const StepRef first = x.copy(input(0), scratch(0));
  const StepRef used = y.copy(scratch(0), output(0), {first});
  const StepRef second = x.copy(input(1), scratch(0), {used});
  const StepRef again = y.copy(scratch(0), output(1), {second, first});
  x.copy(input(2), scratch(0), {again});
  y.copy(scratch(0), output(2), {StepRef{0, 2}});
  const Schedule schedule = std::move(b).finish();
  const json plan = json::parse(to_plan_json(schedule).value());
  EXPECT_EQ(plan["gpus"][0]["semaphores"].size(), 2u);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(test::replay_plan(plan, schedule, PlanAliasing::kOutOfPlace, seed), "");
  }
}

TEST(PlanJson, MessagesWithoutDataAreSignals) {
  Builder b({CollectiveKind::kBroadcast, 2, 0, 0}, {.name = "signal"});
  LaneWriter x = b.add_lane(Rank{0});
  LaneWriter y = b.add_lane(Rank{1});
  x.recv(input(0, 0), Rank{1});
  y.send(input(0, 0), Rank{0});
  x.send(input(0), Rank{1});
  x.copy(input(0), output(0));
  y.recv(output(0), Rank{0});
  const Schedule schedule = std::move(b).finish();
  const json plan = json::parse(to_plan_json(schedule).value());
  EXPECT_EQ(test::replay_plan(plan, schedule, PlanAliasing::kOutOfPlace, 3), "");
}

TEST(PlanJson, RefusesCollectivesThatItLacksAndMessagesThatDoNotMatch) {
  for (CollectiveKind kind : {CollectiveKind::kGather, CollectiveKind::kScatter,
                              CollectiveKind::kBarrier, CollectiveKind::kSendRecv}) {
    EXPECT_THAT(to_plan_json(Builder({kind, 2, 0, 1}, {}).finish()).error().message,
                HasSubstr(to_string(kind)));
  }
  Builder alone({CollectiveKind::kAllReduce, 2, 0, 0}, {});
  alone.add_lane(Rank{0}).send(input(0), Rank{1});
  EXPECT_EQ(to_plan_json(std::move(alone).finish()).error().code, ErrorCode::kMalformed);
  Builder later({CollectiveKind::kAllReduce, 1, 0, 0}, {});
  LaneWriter lane = later.add_lane(Rank{0});
  lane.copy(input(0), output(0), {StepRef{0, 1}});
  lane.copy(input(0), output(0));
  EXPECT_THAT(to_plan_json(std::move(later).finish()).error().message, HasSubstr("later step"));
}

TEST(PlanJson, TellsTheLargestMessageThatOffsetsReach) {
  const Schedule ring = plan::make({CollectiveKind::kAllReduce, 4, 0, 0}, "ring", {}).value();
  const json plan = json::parse(to_plan_json(ring).value());
  const uint64_t chunks = plan["gpus"][0]["input_chunks"];
  const uint64_t scratch = plan["gpus"][0]["scratch_chunks"];
  const uint64_t bytes = plan["max_message_size"];
  EXPECT_LE(bytes / chunks * std::max(chunks, scratch), uint64_t{UINT32_MAX});
  EXPECT_EQ(plan["collective"], "allreduce");
}

}  // namespace
}  // namespace tutti::ir::msccl
