#include "tools/chaos/exchange.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace tutti::tools::chaos {
namespace {

Task task_of(CollectiveKind kind, bool in_place) {
  Task task;
  task.index = 3;
  task.kind = kind;
  task.type = DataType::kInt32;
  task.root = 1;
  task.blocks = {300, 300, 300};
  task.in_place = in_place;
  return task;
}

// All three ranks' sides of the task, after it was done.
std::vector<std::unique_ptr<Exchange>> done(const Task& task) {
  auto comms = Communicator::threads(3).value();
  std::vector<std::unique_ptr<Exchange>> sides;
  std::vector<std::thread> ranks;
  for (uint32_t r = 0; r < 3; ++r) sides.push_back(std::make_unique<Exchange>(task, r, 3));
  for (uint32_t r = 0; r < 3; ++r) {
    ranks.emplace_back([&, r] {
      sides[r]->fill();
      EXPECT_TRUE(comms[r].submit(sides[r]->call()).wait().ok());
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return sides;
}

class EveryKind : public testing::TestWithParam<CollectiveKind> {};

TEST_P(EveryKind, IsRightWhenDoneAndWrongWhenAnyByteOfItIsFlipped) {
  for (const bool in_place : {false, true}) {
    if (in_place && GetParam() == CollectiveKind::kAllToAll) continue;
    const Task task = task_of(GetParam(), in_place);
    const auto sides = done(task);
    for (const auto& side : sides) {
      EXPECT_EQ(side->num_wrong(), 0U) << task.describe();
      const Call call = side->call();
      for (uint64_t i = 0; i < call.output_elems; i += 37) {
        std::byte* const element = static_cast<std::byte*>(call.output) + i * sizeof(int32_t);
        *element ^= std::byte{4};
        EXPECT_EQ(side->num_wrong(), 1U) << task.describe();
        *element ^= std::byte{4};
      }
    }
  }
}

TEST_P(EveryKind, IsWrongBeforeItIsDone) {
  const Task task = task_of(GetParam(), false);
  Exchange side(task, 0, 3);
  side.fill();
  EXPECT_EQ(side.num_wrong() != 0, side.call().output_elems != 0);
}

INSTANTIATE_TEST_SUITE_P(Exchange, EveryKind,
                         testing::Values(CollectiveKind::kAllReduce, CollectiveKind::kReduce,
                                         CollectiveKind::kBroadcast, CollectiveKind::kAllGather,
                                         CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll,
                                         CollectiveKind::kGather, CollectiveKind::kScatter),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

TEST(Exchange, TheResultOfAnotherTaskIsWrong) {
  Task task = task_of(CollectiveKind::kAllReduce, false);
  const auto sides = done(task);
  Task other = task;
  other.index = 4;
  Exchange side(other, 0, 3);
  side.fill();
  std::memcpy(side.call().output, sides[0]->call().output, 900 * sizeof(int32_t));
  EXPECT_GT(side.num_wrong(), 0U);
}

}  // namespace
}  // namespace tutti::tools::chaos
