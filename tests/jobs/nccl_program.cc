// A process of a job that uses tutti as it uses NCCL: it learns an id from its launcher's job, and
// is two ranks of the job that meets there, one a thread. What it ends without is the program's
// choice: `leak` leaves the communicators as they are.
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "frontends/nccl/nccl_abi.h"
#include "tests/support/host_device/host_device.h"
#include "tutti/tutti.h"

namespace {

constexpr int kRanksHere = 2;

// Left to the end of the process, yet not lost.
ncclComm_t g_kept[kRanksHere] = {};

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("wrong: %s: %s\n", what, ncclGetLastError(nullptr));
  std::fflush(stdout);
  std::_Exit(1);
}

void be_rank(const ncclUniqueId& id, int rank, int num_ranks, bool leaks) {
  ncclComm_t& comm = g_kept[rank % kRanksHere];
  tutti::test::ThreadStream stream;
  expect(ncclCommInitRank(&comm, num_ranks, id, rank) == ncclSuccess, "init");
  for (const size_t count : {1u, 1000u, 100'000u}) {
    std::vector<int64_t> data(count, rank + 1);
    expect(ncclAllReduce(data.data(), data.data(), count, ncclInt64, ncclSum, comm, &stream) ==
               ncclSuccess,
           "all_reduce");
    stream.synchronize();
    const std::vector<int64_t> want(count, int64_t{num_ranks} * (num_ranks + 1) / 2);
    expect(data == want, "the sum");
  }
  if (!leaks) expect(ncclCommDestroy(comm) == ncclSuccess, "destroy");
}

}  // namespace

int main(int argc, char** argv) {
  const bool leaks = argc > 1 && std::string_view(argv[1]) == "leak";
  tutti::Communicator job = tutti::Communicator::from_environment().value();
  ncclUniqueId id{};
  if (job.rank() == 0) expect(ncclGetUniqueId(&id) == ncclSuccess, "id");
  job.broadcast(std::span<char>(id.internal)).wait().value();
  const int num_ranks = static_cast<int>(job.num_ranks()) * kRanksHere;
  std::vector<std::thread> threads;
  for (int i = 0; i < kRanksHere; ++i) {
    const int rank = static_cast<int>(job.rank()) * kRanksHere + i;
    threads.emplace_back([=] { be_rank(id, rank, num_ranks, leaks); });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("rank %u: all right at %s\n", job.rank(), id.internal);
}
