// Where ranks in several processes tell each other of memory.
#include "comm/cuda/device_links.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "comm/group.h"
#include "comm/node.h"
#include "transport/memory.h"
#include "tutti/communicator.h"

namespace tutti::comm {
namespace {

using engine::cuda::LinkWords;
using engine::cuda::RegionLink;

// The first one of a segment counts.
constexpr uint32_t kMostPlaces = transport::kLinkBytes / sizeof(LinkWords) - 1;

class DeviceLinks : public testing::Test {
 protected:
  [[nodiscard]] const transport::Endpoint& endpoint(uint32_t rank) const {
    return comms_[rank].group()->node().engine.endpoint();
  }

 private:
  std::vector<Communicator> comms_ = Communicator::threads(3).value();
};

TEST_F(DeviceLinks, EveryPlaceIsTakenOnceWhoeverTakesIt) {
  std::mutex mutex;
  std::set<uint32_t> taken;
  std::atomic<uint32_t> num_here = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (uint32_t i = 0; i < kMostPlaces / 3; ++i) {
        ++num_here;
        // Liveness: all three come; then they take a place at once.
        while (num_here < 3 * (i + 1)) std::this_thread::yield();
        const uint32_t place = take_link(endpoint(1));
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(taken.insert(place).second) << place;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*taken.begin(), 1u);
  EXPECT_EQ(*taken.rbegin(), kMostPlaces / 3 * 3);
  // Each rank has its own.
  EXPECT_EQ(take_link(endpoint(0)), 1u);
}

TEST_F(DeviceLinks, WhenNoneIsLeftNoneIsGiven) {
  for (uint32_t place = 1; place <= kMostPlaces; ++place) {
    ASSERT_EQ(take_link(endpoint(0)), place);
  }
  EXPECT_EQ(take_link(endpoint(0)), 0u);
  EXPECT_EQ(take_link(endpoint(0)), 0u);
}

// What a rank writes the other one reads, and nobody else's words change.
TEST_F(DeviceLinks, WhatOneSaysTheOtherHears) {
  const uint32_t of_two_for_0 = take_link(endpoint(2));
  const uint32_t of_two_for_1 = take_link(endpoint(2));
  const uint32_t of_zero = take_link(endpoint(0));
  const uint32_t of_one = take_link(endpoint(1));
  const RegionLink zero = link_of(endpoint(0), {of_zero, Rank{2}, of_two_for_0});
  const RegionLink one = link_of(endpoint(1), {of_one, Rank{2}, of_two_for_1});
  const RegionLink two_to_0 = link_of(endpoint(2), {of_two_for_0, Rank{0}, of_zero});
  const RegionLink two_to_1 = link_of(endpoint(2), {of_two_for_1, Rank{1}, of_one});
  zero.here->num_exported = 10;
  zero.here->num_mapped = 11;
  two_to_0.here->num_exported = 20;
  two_to_0.here->num_mapped = 21;
  two_to_1.here->num_exported = 30;
  two_to_1.here->num_mapped = 31;
  EXPECT_EQ(two_to_0.there->num_exported, 10u);
  EXPECT_EQ(two_to_0.there->num_mapped, 11u);
  EXPECT_EQ(zero.there->num_exported, 20u);
  EXPECT_EQ(zero.there->num_mapped, 21u);
  EXPECT_EQ(one.there->num_exported, 30u);
  EXPECT_EQ(one.there->num_mapped, 31u);
  EXPECT_EQ(two_to_1.there->num_exported, 0u);
  // Nor the word that counts.
  EXPECT_EQ(take_link(endpoint(2)), of_two_for_1 + 1);
}

// What a peer has said may be nonsense.
TEST_F(DeviceLinks, WithoutAPlaceOnBothSidesThereIsNoLink) {
  const uint32_t here = take_link(endpoint(0));
  for (const LinkEnds& ends :
       {LinkEnds{0, Rank{1}, 1}, LinkEnds{here, Rank{1}, 0},
        LinkEnds{here, Rank{1}, kMostPlaces + 1}, LinkEnds{here, Rank{1}, UINT32_MAX}}) {
    const RegionLink link = link_of(endpoint(0), ends);
    EXPECT_EQ(link.here, nullptr) << ends.here << " " << ends.there;
    EXPECT_EQ(link.there, nullptr) << ends.here << " " << ends.there;
  }
  EXPECT_NE(link_of(endpoint(0), {here, Rank{1}, kMostPlaces}).there, nullptr);
}

}  // namespace
}  // namespace tutti::comm
