// Device communicators on a GPU that several ranks share: as threads, and as processes, which this
// program starts of itself.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "bench/cuda/rank_processes.h"
#include "tests/cuda/device_job.h"

namespace tutti::test {
namespace {

constexpr const char* kSeed = "TUTTI_TEST_SEED";
constexpr uint64_t kDies = 666;  // as a seed: the last rank dies, and the others must hear of it

TEST(DeviceCommunicator, ThreadsInAnyOrder) {
  for (const uint32_t n : {1u, 2u, 4u, 8u}) {
    auto comms = Communicator::threads(n).value();
    std::atomic<uint64_t> wrong = 0;
    std::vector<std::thread> threads;
    for (uint32_t r = 0; r < n; ++r) {
      threads.emplace_back([&, r] {
        Communicator comm = comms[r];
        DeviceJobRank rank(DeviceCommunicator::create(comm, 0).value(), n);
        rank.prepare(4, 12, 200'000);
        comm.barrier().wait().value();
        rank.run(false);
        comm.barrier().wait().value();
        wrong += rank.num_wrong();
        comm.barrier().wait().value();
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0u) << n << " ranks";
  }
}

int run_until_death(Communicator comm) {
  auto gpu = DeviceCommunicator::create(comm, 0).value();
  const DeviceArray data(rank_values(gpu.rank(), 1000));
  if (gpu.rank() + 1 == gpu.num_ranks()) std::_Exit(0);
  gpu.all_reduce(data.data(), nullptr).value();
  TUTTI_CUDA_CHECK(cudaStreamSynchronize(nullptr));
  const Status status = gpu.finish();
  const bool is_named = !status && status.error().code == ErrorCode::kPeerLost;
  std::_Exit(is_named ? 0 : 1);  // the end of the job is not met: a rank is missing
}

// A rank of a job of processes. The exit code.
int run_process() {
  Communicator comm = Communicator::from_environment().value();
  const uint64_t seed = std::strtoull(std::getenv(kSeed), nullptr, 10);
  if (seed == kDies) return run_until_death(comm);
  DeviceJobRank rank(DeviceCommunicator::create(comm, 0).value(), seed);
  rank.prepare(4, 12, 200'000);
  rank.run(true);
  const uint64_t wrong = rank.num_wrong();
  comm.barrier().wait().value();
  return wrong == 0 ? 0 : 1;
}

// Whether all ended well.
bool run_processes(uint32_t num_ranks, uint64_t seed) {
  char self[] = "device_communicator_test";
  char* const arguments[] = {self};
  bench::RankProcesses processes(num_ranks, arguments,
                                 {std::string(kSeed) + "=" + std::to_string(seed)});
  return processes.wait_for_all();
}

TEST(DeviceCommunicator, ProcessesInAnyOrder) {
  for (const uint32_t n : {2u, 4u}) {
    EXPECT_TRUE(run_processes(n, n)) << n << " ranks";
  }
}

TEST(DeviceCommunicator, AProcessThatDiesIsNamedAndStreamsGoOn) {
  EXPECT_TRUE(run_processes(3, kDies));
}

}  // namespace
}  // namespace tutti::test

int main(int argc, char** argv) {
  if (std::getenv(tutti::test::kSeed) != nullptr) return tutti::test::run_process();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
