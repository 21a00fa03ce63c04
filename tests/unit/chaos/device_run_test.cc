// Whole runs of chaos on devices whose blocks are threads of the host; a failure prints the seed,
// and TUTTI_SEED repeats it. Ranks are threads. Where they wait for the device as processes do, the
// device of each is its own.
#include "tools/chaos/device_run.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "tests/support/host_device/host_gpu.h"

namespace tutti::tools::chaos {
namespace {

using test::HostGpu;

uint64_t device_seed() {
  const char* const given = std::getenv("TUTTI_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

// Runs all ranks and expects every element to be right. How often ranks waited for the device.
uint64_t run_on_devices(Settings settings) {
  settings.on_gpu = true;
  settings.seed = device_seed();
  settings.delay_us = 20;
  settings.max_bytes = 4096;
  settings = completed(settings).value();
  SCOPED_TRACE("TUTTI_SEED=" + std::to_string(settings.seed));
  auto comms = Communicator::threads(settings.num_ranks).value();
  std::vector<std::string> complaints(settings.num_ranks);
  std::vector<uint64_t> waits(settings.num_ranks);
  std::vector<std::unique_ptr<HostGpu::Process>> processes;
  for (uint32_t r = 0; r < (settings.threads ? 1 : settings.num_ranks); ++r) {
    processes.push_back(std::make_unique<HostGpu::Process>());
  }
  std::vector<std::thread> ranks;
  for (uint32_t r = 0; r < settings.num_ranks; ++r) {
    ranks.emplace_back([&, r] {
      HostGpu gpu(*processes[r % processes.size()]);
      DeviceSeat seat(gpu);
      const auto rank = DeviceRun::prepare(settings, comms[r], seat).value();
      const Status status = rank->run();
      complaints[r] = status ? rank->tally().first_wrong : status.error().message;
      const auto& of_rank = rank->tally().waits;
      waits[r] = std::accumulate(of_rank.begin(), of_rank.end(), uint64_t{0});
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (const std::string& complaint : complaints) EXPECT_EQ(complaint, "");
  return std::accumulate(waits.begin(), waits.end(), uint64_t{0});
}

TEST(DeviceChaos, RandomOrdersOnOverlappingGroupsAreRight) {
  run_on_devices(
      {.num_ranks = 4, .num_collectives = 40, .rounds = 2, .num_groups = 5, .threads = true});
}

TEST(DeviceChaos, LatinSquareOfEightRanksIsRight) {
  run_on_devices({.num_ranks = 8,
                  .num_collectives = 16,
                  .rounds = 1,
                  .pattern = Pattern::kLatin,
                  .threads = true,
                  .num_streams = 2});
}

TEST(DeviceChaos, TwoCommunicatorsInOppositeOrdersAreRight) {
  run_on_devices({.num_ranks = 2,
                  .num_collectives = 16,
                  .rounds = 2,
                  .pattern = Pattern::kTorchrec,
                  .threads = true});
}

TEST(DeviceChaos, TensorDataPipelineGroupsAreRight) {
  run_on_devices({.num_ranks = 4,
                  .num_collectives = 24,
                  .rounds = 1,
                  .pattern = Pattern::kGrid,
                  .threads = true});
}

// Communicators that no other has all ranks of are made by many threads at once.
TEST(DeviceChaos, GroupsOfManyThreadsMeetAtOnceAndAreRight) {
  for (int i = 0; i < 3; ++i) {
    run_on_devices({.num_ranks = 6,
                    .num_collectives = 12,
                    .rounds = 1,
                    .pattern = Pattern::kGrid,
                    .threads = true});
  }
}

TEST(DeviceChaos, RanksThatWaitForTheDeviceAsThreadsDoGoOn) {
  EXPECT_GT(run_on_devices({.num_ranks = 3,
                            .num_collectives = 30,
                            .rounds = 2,
                            .in_flight = 6,
                            .threads = true,
                            .num_waits = 10}),
            0U);
}

TEST(DeviceChaos, RanksThatWaitForTheDeviceAsProcessesDoGoOn) {
  EXPECT_GT(run_on_devices({.num_ranks = 4, .num_collectives = 40, .rounds = 2, .num_waits = 20}),
            0U);
}

TEST(DeviceChaos, OneStreamOfEachRankIsEnough) {
  run_on_devices(
      {.num_ranks = 3, .num_collectives = 20, .rounds = 1, .threads = true, .num_streams = 1});
}

}  // namespace
}  // namespace tutti::tools::chaos
