#include "tools/launch/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace tutti::tools::launch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Cause = Verdict::Cause;

constexpr Outcome exited(int code) { return {code, 0, false}; }
constexpr Outcome killed_by(int signal) { return {0, signal, false}; }

TEST(Outcome, InWords) {
  EXPECT_EQ(describe(exited(3)), "exited with code 3");
  EXPECT_EQ(describe(killed_by(SIGKILL)), "was killed by SIGKILL");
  EXPECT_EQ(describe({0, SIGSEGV, true}), "was killed by SIGSEGV (core dumped)");
  EXPECT_EQ(signal_name(SIGRTMIN + 3), "signal " + std::to_string(SIGRTMIN + 3));
}

TEST(Outcome, AsAnExitCode) {
  EXPECT_EQ(exit_code_of(exited(3)), 3);
  EXPECT_EQ(exit_code_of(killed_by(SIGKILL)), 137);
}

TEST(Ranks, AreListedInRanges) {
  EXPECT_EQ(describe_ranks({4}), "rank 4");
  EXPECT_EQ(describe_ranks({0, 1}), "ranks 0-1");
  EXPECT_EQ(describe_ranks({0, 1, 2, 5, 7, 8}), "ranks 0-2,5,7-8");
}

TEST(Verdict, AllWellIsSilentAndZero) {
  Verdict verdict;
  EXPECT_FALSE(verdict.add({0, 10, exited(0), 1}, Cause::kItself));
  EXPECT_EQ(verdict.exit_code(), 0);
  EXPECT_THAT(verdict.summary(), IsEmpty());
}

TEST(Verdict, TheFirstFailureDecidesTheCode) {
  Verdict verdict;
  EXPECT_EQ(verdict.add({3, 4711, killed_by(SIGSEGV), 1.23}, Cause::kItself),
            "rank 3 (pid 4711) was killed by SIGSEGV after 1.2 s");
  EXPECT_TRUE(verdict.add({1, 4710, exited(9), 2}, Cause::kItself));
  EXPECT_EQ(verdict.exit_code(), 128 + SIGSEGV);
}

TEST(Verdict, RanksThatWeEndedAreListedAtTheEndAndDoNotDecide) {
  Verdict verdict;
  EXPECT_TRUE(verdict.add({1, 1, exited(5), 1}, Cause::kItself));
  EXPECT_FALSE(verdict.add({3, 1, killed_by(SIGTERM), 1}, Cause::kOurSigterm));
  EXPECT_FALSE(verdict.add({2, 1, killed_by(SIGTERM), 1}, Cause::kOurSigterm));
  EXPECT_FALSE(verdict.add({0, 1, killed_by(SIGKILL), 1}, Cause::kOurSigkill));
  EXPECT_THAT(verdict.summary(),
              ElementsAre("ended with SIGTERM: ranks 2-3", "had to be killed: rank 0"));
  EXPECT_EQ(verdict.exit_code(), 5);
}

TEST(Verdict, ASignalOfTheUsersIsToldOnce) {
  Verdict verdict;
  EXPECT_TRUE(verdict.add({0, 1, killed_by(SIGINT), 1}, Cause::kPassedOnSignal));
  EXPECT_FALSE(verdict.add({1, 1, killed_by(SIGINT), 1}, Cause::kPassedOnSignal));
  EXPECT_EQ(verdict.exit_code(), 130);
  EXPECT_THAT(verdict.summary(), IsEmpty());
}

TEST(Verdict, ALostReaderIsNoFailureOfTheRank) {
  Verdict verdict;
  verdict.end_with(141);
  EXPECT_FALSE(verdict.add({0, 1, killed_by(SIGPIPE), 1}, Cause::kLostReader));
  EXPECT_THAT(verdict.summary(), IsEmpty());
}

TEST(Verdict, ManyFailuresAreCounted) {
  Verdict verdict;
  int announced = 0;
  for (uint32_t rank = 0; rank < 1000; ++rank) {
    announced += verdict.add({rank, 1, exited(1), 1}, Cause::kItself) ? 1 : 0;
  }
  EXPECT_EQ(announced, 8);
  EXPECT_THAT(verdict.summary(), ElementsAre("1000 ranks failed: ranks 0-999"));
}

}  // namespace
}  // namespace tutti::tools::launch
