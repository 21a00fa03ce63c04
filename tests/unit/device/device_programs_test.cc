// Which schedules calls on a device follow.
#include "comm/cuda/device_programs.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <span>

#include "comm/cuda/device_members.h"
#include "comm/loaded_schedule.h"
#include "comm/tuning.h"
#include "tests/unit/device/device_job.h"
#include "tutti/schedule.h"

namespace tutti::test {
namespace {

using Self = DeviceJob::Self;

constexpr uint32_t kChunks = 7;

// It has a message for every chunk, which no other that serves a broadcast has.
VerifiedSchedule device_chain(uint32_t num_ranks) {
  return Schedule::plan({CollectiveKind::kBroadcast, num_ranks, 1}, "chain", {.chunks = kChunks})
      .value()
      .verify()
      .value();
}

TEST(DevicePrograms, ASchedulesCallsRunOnADeviceToo) {
  for (const Placing placing : {Placing::kOneProcess, Placing::kProcesses}) {
    DeviceJob job(3, placing);
    job.run([&](Self& self) {
      const Communicator follower = self.comm.with_schedule(device_chain(3)).value();
      auto gpu =
          DeviceCommunicator(comm::DeviceGroup::create(follower, job.host(self.rank)).value());
      for (const uint64_t elems : {1ul, 100ul, 50'000ul}) {
        const auto data = self.numbers(elems, first_of(self.rank));
        ASSERT_TRUE(gpu.broadcast(data, self.handle(), {.root = 1}).ok());
        self.stream.synchronize();
        for (uint64_t i = 0; i < elems; ++i) {
          ASSERT_EQ(data[i], first_of(1) + static_cast<int64_t>(i));
        }
      }
    });
  }
}

TEST(DevicePrograms, FollowLoadedSchedulesForTheirSizes) {
  DeviceJob job(3);
  job.run([&](Self& self) {
    const auto members = comm::introduce(self.comm, job.host(self.rank)).value();
    comm::TuningTable table;
    table.source = "a file";  // measured or not: schedules hold
    table.schedules = {comm::load_schedule(device_chain(3).proved(), {8000, 80'000}).value()};
    comm::DevicePrograms programs(members, self.rank, table);
    const auto image_bytes = [&](uint64_t elems, uint32_t root) {
      const comm::ProgramKey key{CollectiveKind::kBroadcast, 8, root, elems, {}};
      return programs.find(key, {}).value()->program()->image_bytes;
    };
    EXPECT_GT(image_bytes(1000, 1), image_bytes(999, 1));
    EXPECT_GT(image_bytes(10'000, 1), image_bytes(10'001, 1));
    EXPECT_GT(image_bytes(1000, 1), image_bytes(1000, 2));
  });
}

TEST(DevicePrograms, FollowRulesThatAProgramGaveAndNoneThatWereMeasuredOnCpus) {
  const Collective collective{CollectiveKind::kAllReduce, 4, 0};
  comm::TuningTable table;
  table.rules = {{.kind = CollectiveKind::kAllReduce,
                  .num_ranks = 4,
                  .min_bytes = 1000,
                  .max_bytes = 2000,
                  .choice = comm::Choice{"ring"}}};
  EXPECT_EQ(comm::choose_device_algorithm(table, collective, 1500).algorithm, "ring");
  EXPECT_EQ(comm::choose_device_algorithm(table, collective, 3000).algorithm, "pull");
  table.source = "a file";
  EXPECT_EQ(comm::choose_device_algorithm(table, collective, 1500).algorithm, "pull");
}

TEST(DevicePrograms, TheUserSaysHowManyWorkersDaemonsHave) {
  setenv("TUTTI_GPU_WORKERS", "3", 1);
  DeviceJob job(2);
  unsetenv("TUTTI_GPU_WORKERS");
  job.run([&](Self& self) {
    comm::DeviceNode& node = *job.host(self.rank).node(self.rank, 2).value();
    EXPECT_EQ(node.daemon().num_workers(), 3u);
    check_all_reduce(self, 40'000);
  });
}

}  // namespace
}  // namespace tutti::test
