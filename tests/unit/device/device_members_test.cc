// How ranks come to know each other's daemons.
#include "comm/cuda/device_members.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/unit/device/device_job.h"

namespace tutti::test {
namespace {

using Self = DeviceJob::Self;

// As after two communicators that threads made at once: the first rank met the second in the one
// last, the second rank the first in the other.
void meet_as_another(comm::DeviceNode& node, comm::DeviceNode& other) {
  const comm::DeviceNode::Met met = node.known(other.identity());
  const uint32_t neighbour = node.daemon().expect_neighbour().value();
  ASSERT_TRUE(node.meet(other.identity(), neighbour, {other.daemon().front(), met.there}).ok());
}

TEST(DeviceMembers, RanksThatKnowEachOtherAsOthersMeetAnew) {
  DeviceJob job(2);
  std::atomic<comm::DeviceNode*> nodes[2] = {};
  job.run([&](Self& self) {
    nodes[self.rank] = comm::introduce(self.comm, job.host(self.rank)).value().node;
    ASSERT_TRUE(self.comm.barrier().wait().ok());
    if (self.rank == 1) meet_as_another(*nodes[1], *nodes[0]);
    ASSERT_TRUE(self.comm.barrier().wait().ok());
    auto gpu =
        DeviceCommunicator(comm::DeviceGroup::create(self.comm, job.host(self.rank)).value());
    const CallOptions soon{.deadline = std::chrono::seconds(10)};
    check_all_reduce_of(gpu, self, 100, soon);
    EXPECT_TRUE(gpu.status().ok());
  });
}

TEST(DeviceMembers, RanksThatKnowEachOtherStayWithThat) {
  DeviceJob job(3);
  job.run([&](Self& self) {
    const auto first = comm::introduce(self.comm, job.host(self.rank)).value();
    const auto second = comm::introduce(self.comm, job.host(self.rank)).value();
    EXPECT_EQ(first.neighbours, second.neighbours);
  });
}

}  // namespace
}  // namespace tutti::test
