// Whole runs between threads, in a new random order every time; a failure prints the seed, and
// TUTTI_SEED repeats it.
#include "tools/chaos/rank_run.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "tests/support/sanitized.h"

namespace tutti::tools::chaos {
namespace {

using test::kSanitized;

uint64_t seed() {
  const char* const given = std::getenv("TUTTI_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

// Runs all ranks and expects every element to be right.
void run(Settings settings) {
  settings.seed = seed();
  settings.delay_us = 20;
  // Kernels with sanitizers are a hundred times as slow.
  if (kSanitized && settings.max_bytes == 0) settings.max_bytes = uint64_t{64} << 10;
  settings = completed(settings).value();
  SCOPED_TRACE("TUTTI_SEED=" + std::to_string(settings.seed));
  auto comms = Communicator::threads(settings.num_ranks).value();
  std::vector<std::string> complaints(settings.num_ranks);
  std::vector<std::thread> ranks;
  for (uint32_t r = 0; r < settings.num_ranks; ++r) {
    ranks.emplace_back([&, r] {
      auto rank = RankRun::prepare(settings, comms[r]).value();
      const Status status = rank->run();
      complaints[r] = status ? rank->tally().first_wrong : status.error().message;
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (const std::string& complaint : complaints) EXPECT_EQ(complaint, "");
}

TEST(Chaos, RandomOrdersOnOverlappingGroupsAreRight) {
  run({.num_ranks = 4, .num_collectives = 60, .rounds = 4, .num_groups = 5});
}

TEST(Chaos, LatinSquareOfEightRanksIsRight) {
  run({.num_ranks = 8, .num_collectives = 24, .rounds = 2, .pattern = Pattern::kLatin});
}

TEST(Chaos, TwoCommunicatorsInOppositeOrdersAreRight) {
  run({.num_ranks = 4, .num_collectives = 16, .rounds = 4, .pattern = Pattern::kTorchrec});
}

TEST(Chaos, TensorDataPipelineGroupsAreRight) {
  run({.num_ranks = 8, .num_collectives = 48, .rounds = 2, .pattern = Pattern::kGrid});
}

TEST(Chaos, SeveralThreadsOfARankMayIssue) {
  run({.num_ranks = 3, .num_collectives = 60, .rounds = 2, .num_issuers = 3});
}

TEST(Chaos, AWindowOfOperationsInFlightIsRight) {
  run({.num_ranks = 3, .num_collectives = 50, .rounds = 2, .in_flight = 7});
}

TEST(Chaos, ThousandsInFlightComplete) {
  run({.num_ranks = 2, .num_collectives = 2000, .rounds = 1, .num_groups = 2, .max_bytes = 512});
}

}  // namespace
}  // namespace tutti::tools::chaos
