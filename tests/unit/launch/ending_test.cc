#include "tools/launch/ending.h"

#include <gtest/gtest.h>

namespace tutti::tools::launch {
namespace {

using std::chrono::seconds;

constexpr Time kStart{};

TEST(Ending, NothingIsDueBeforeItBegins) {
  Ending ending(seconds(2));
  EXPECT_EQ(ending.due(kStart + seconds(100)), EndingAction::kNothing);
  EXPECT_FALSE(ending.deadline());
  EXPECT_FALSE(ending.begun());
}

TEST(Ending, GraceThenSigtermThenGraceThenSigkillEachOnce) {
  Ending ending(seconds(2));
  ending.begin(kStart);
  EXPECT_EQ(ending.due(kStart + seconds(1)), EndingAction::kNothing);
  EXPECT_FALSE(ending.terminated());
  EXPECT_EQ(ending.deadline(), kStart + seconds(2));
  EXPECT_EQ(ending.due(kStart + seconds(2)), EndingAction::kTerminate);
  EXPECT_TRUE(ending.terminated());
  EXPECT_EQ(ending.due(kStart + seconds(3)), EndingAction::kNothing);
  EXPECT_EQ(ending.due(kStart + seconds(4)), EndingAction::kKill);
  EXPECT_TRUE(ending.killed());
  EXPECT_EQ(ending.due(kStart + seconds(9)), EndingAction::kNothing);
  EXPECT_FALSE(ending.deadline());
}

TEST(Ending, ASecondFailureDoesNotProlongTheGrace) {
  Ending ending(seconds(2));
  ending.begin(kStart);
  ending.begin(kStart + seconds(1));
  EXPECT_EQ(ending.due(kStart + seconds(2)), EndingAction::kTerminate);
}

TEST(Ending, TerminateSkipsTheFirstGrace) {
  Ending ending(seconds(2));
  ending.terminate(kStart);
  EXPECT_EQ(ending.due(kStart), EndingAction::kTerminate);
  ending.terminate(kStart + seconds(1));
  EXPECT_EQ(ending.due(kStart + seconds(1)), EndingAction::kNothing);
  EXPECT_EQ(ending.due(kStart + seconds(2)), EndingAction::kKill);
}

TEST(Ending, KillSkipsEverything) {
  Ending ending(seconds(2));
  ending.kill(kStart);
  EXPECT_EQ(ending.due(kStart), EndingAction::kKill);
  ending.kill(kStart);
  ending.begin(kStart);
  EXPECT_EQ(ending.due(kStart + seconds(9)), EndingAction::kNothing);
}

TEST(Ending, WithoutGraceOneFollowsTheOther) {
  Ending ending(seconds(0));
  ending.begin(kStart);
  EXPECT_EQ(ending.due(kStart), EndingAction::kTerminate);
  EXPECT_EQ(ending.due(kStart), EndingAction::kKill);
}

}  // namespace
}  // namespace tutti::tools::launch
