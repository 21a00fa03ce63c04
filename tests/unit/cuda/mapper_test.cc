// Memory of a rank in another process is mapped without anybody waiting for it.
#include "engine/cuda/mapper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/thread_device.h"

namespace tutti::engine::cuda {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

// Both ranks are each other's only neighbour.
constexpr uint32_t kOther = 1;
constexpr uint64_t kBytes = 100;

// Calls `on_map` in the thread that maps, before it does; an error is the driver's.
class SeenDevice : public test::ThreadDevice {
 public:
  SeenDevice() : ThreadDevice(test::Sharing::kAsProcesses) {}
  Result<std::byte*> map(const SharedRegion& region) override {
    if (Status status = on_map(region); !status) return std::move(status.error());
    return ThreadDevice::map(region);
  }
  // Set before anything is linked.
  std::function<Status(const SharedRegion& region)> on_map = [](const SharedRegion& /*region*/) {
    return Status();
  };
};

struct Side {
  SeenDevice device;
  Front* front = reinterpret_cast<Front*>(device.allocate(sizeof(Front)).value());
  LinkWords words{};
  Exports exports{device, *front};
  Imports imports{device};
  const uint64_t* table = nullptr;  // of the other's regions
  std::unique_ptr<Mapper> mapper = std::make_unique<Mapper>(imports);

  // Regions are memory that begins with `first`.
  std::byte* share(char first = 0) {
    std::byte* const at = device.allocate_apart(kBytes);
    *at = static_cast<std::byte>(first);
    EXPECT_TRUE(exports.address_of(at).ok());
    return at;
  }
  // The first regions of the other are `bases` here.
  void link(Side& other, const std::vector<const std::byte*>& bases = {}) {
    link_as(other, {&words, &other.words}, bases);
  }
  void link_as(Side& other, const RegionLink& words_of_both,
               const std::vector<const std::byte*>& bases = {}) {
    table = imports.add(kOther, {other.front, bases}).value();
    exports.link(kOther, words_of_both, exports.num_regions());
    mapper->link(kOther, words_of_both, static_cast<uint32_t>(bases.size()));
  }
  [[nodiscard]] uint32_t num_mapped() const { return words.num_mapped.load(); }
  void await_mapped(uint32_t num) const {
    // Liveness: the mapper's thread maps what it has heard of; ctest's time limit ends a failed
    // test.
    while (num_mapped() < num) std::this_thread::yield();
  }
  void await_in_table(uint32_t region) const {
    // Liveness: as above.
    while (load_acquire(&table[region]) == 0) std::this_thread::yield();
  }
  [[nodiscard]] char first_of(uint32_t region) const {
    return *reinterpret_cast<const char*>(load_acquire(&table[region]));
  }
  // Then what `on_map` has written can be read.
  void end() { mapper.reset(); }
};

uint64_t base_of(const std::byte* at) { return reinterpret_cast<uint64_t>(at); }

TEST(Mapper, MapsRegionsInTheirOrderAndCountsEachWhenItCanBeReached) {
  Side there;
  Side here;
  std::vector<uint64_t> mapped;
  std::vector<uint32_t> counted;
  here.device.on_map = [&](const SharedRegion& region) {
    mapped.push_back(region.base);
    counted.push_back(here.num_mapped());
    return Status();
  };
  here.link(there);
  there.link(here);
  std::vector<uint64_t> shared;
  for (const char first : {'a', 'b', 'c', 'd', 'e'}) shared.push_back(base_of(there.share(first)));
  here.mapper->look();
  here.await_mapped(5);
  for (uint32_t region = 1; region <= 5; ++region) {
    EXPECT_EQ(here.first_of(region), "abcde"[region - 1]);
  }
  here.end();
  EXPECT_THAT(mapped, ElementsAreArray(shared));
  EXPECT_THAT(counted, ElementsAre(0, 1, 2, 3, 4));
}

TEST(Mapper, WhatIsKnownFromTheBeginningIsNotMapped) {
  Side there;
  Side here;
  std::vector<uint64_t> mapped;
  here.device.on_map = [&](const SharedRegion& region) {
    mapped.push_back(region.base);
    return Status();
  };
  const std::byte* const known[] = {there.share('a'), there.share('b')};
  here.link(there, {known[0], known[1]});
  there.link(here);
  EXPECT_TRUE(there.exports.is_known_to(kOther, 2));
  const std::byte* const later = there.share('c');
  EXPECT_FALSE(there.exports.is_known_to(kOther, 3));
  here.mapper->ask(wanted_word(kOther, 1));
  here.mapper->look();
  here.await_mapped(3);
  here.end();
  EXPECT_THAT(mapped, ElementsAre(base_of(later)));
  EXPECT_EQ(here.first_of(2), 'b');
  EXPECT_EQ(here.first_of(3), 'c');
}

TEST(Mapper, ARegionThatCannotBeMappedCountsAndTheNextOnesAreMapped) {
  Side there;
  Side here;
  int num_maps = 0;
  here.device.on_map = [&](const SharedRegion& /*region*/) {
    return ++num_maps == 2 ? Status(Error{ErrorCode::kIo, "no room"}) : Status();
  };
  here.link(there);
  there.link(here);
  for (const char first : {'a', 'b', 'c'}) there.share(first);
  here.mapper->look();
  here.await_mapped(3);
  EXPECT_EQ(load_acquire(&here.table[2]), kUnreachableRegion);
  EXPECT_EQ(here.first_of(3), 'c');
  EXPECT_TRUE(there.exports.is_known_to(kOther, 2));
  ASSERT_FALSE(here.imports.unmapped().ok());
  EXPECT_EQ(here.imports.unmapped().error().message, "no room");
}

TEST(Mapper, BothSidesTellHowManyTheyHaveSharedAndMapped) {
  Side a;
  Side b;
  a.link(b);
  b.link(a);
  a.share();
  a.share();
  for (int i = 0; i < 3; ++i) b.share();
  EXPECT_EQ(a.words.num_exported.load(), 2u);
  EXPECT_EQ(b.words.num_exported.load(), 3u);
  a.mapper->look();
  a.await_mapped(3);
  EXPECT_TRUE(b.exports.is_known_to(kOther, 3));
  EXPECT_FALSE(a.exports.is_known_to(kOther, 1));
  EXPECT_EQ(b.num_mapped(), 0u);
  b.mapper->look();
  b.await_mapped(2);
  EXPECT_TRUE(a.exports.is_known_to(kOther, 2));
  EXPECT_FALSE(a.exports.is_known_to(kOther, 3));
  EXPECT_EQ(a.num_mapped(), 3u);
}

// As behind a lock of the driver.
TEST(Mapper, WhoLooksAndAsksIsNotHeldUpWhileItIs) {
  Side there;
  Side here;
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> num_by_caller = 0;
  std::promise<void> is_held;
  std::promise<void> may_go_on;
  here.device.on_map = [&, held = std::shared_future(may_go_on.get_future()),
                        is_first = true](const SharedRegion& /*region*/) mutable -> Status {
    if (std::this_thread::get_id() == caller) {
      ++num_by_caller;
      return {};
    }
    if (std::exchange(is_first, false)) is_held.set_value();
    // Liveness: the test lets it go.
    held.wait();
    return {};
  };
  here.link(there);
  there.link(here);
  there.share();
  here.mapper->look();
  if (num_by_caller == 0) is_held.get_future().wait();  // Liveness: it was told of a region.
  there.share();
  for (int i = 0; i < 10; ++i) {
    here.mapper->look();
    here.mapper->ask(wanted_word(kOther, 2));
  }
  EXPECT_EQ(num_by_caller, 0);
  EXPECT_EQ(here.num_mapped(), 0u);
  may_go_on.set_value();
  here.await_mapped(2);
}

TEST(Mapper, MapsWhatIsAskedForFirstAndNothingTwice) {
  Side there;
  Side here;
  std::vector<uint64_t> mapped;
  here.device.on_map = [&](const SharedRegion& region) {
    mapped.push_back(region.base);
    return Status();
  };
  here.link(there);
  there.link(here);
  const std::byte* const shared[] = {there.share(), there.share(), there.share()};
  for (int i = 0; i < 10; ++i) here.mapper->ask(wanted_word(kOther, 2));
  here.await_mapped(3);
  here.mapper->ask(wanted_word(kOther, 1));
  here.end();
  EXPECT_THAT(mapped, ElementsAre(base_of(shared[1]), base_of(shared[0]), base_of(shared[2])));
}

TEST(Mapper, MapsForNeighboursThatTellNothingWhenItIsAsked) {
  Side there;
  Side here;
  std::vector<uint64_t> mapped;
  here.device.on_map = [&](const SharedRegion& region) {
    mapped.push_back(region.base);
    return Status();
  };
  here.link_as(there, {});
  there.link_as(here, {});
  there.share('a');
  const std::byte* const second = there.share('b');
  EXPECT_TRUE(there.exports.is_known_to(kOther, 2));  // nobody can tell
  here.mapper->look();
  here.mapper->ask(wanted_word(kOther, 2));
  here.await_in_table(2);
  here.end();
  EXPECT_EQ(here.first_of(2), 'b');
  EXPECT_THAT(mapped, ElementsAre(base_of(second)));
}

// No neighbour of that number, no region of that number.
TEST(Mapper, WhatNobodyCanMeanIsPassedOver) {
  Side there;
  Side here;
  here.link(there);
  there.link(here);
  for (const uint32_t wanted :
       {wanted_word(kOther + 1, 1), wanted_word(kOther, 0), wanted_word(kOther, kMostRegions)}) {
    here.mapper->ask(wanted);
  }
  there.words.num_exported = kMostRegions + 5;
  here.mapper->look();
  here.await_mapped(kMostRegions - 1);
  here.end();
  EXPECT_EQ(here.num_mapped(), kMostRegions - 1);
}

TEST(Mapper, ItsEndWaitsForWhatIsBeingMapped) {
  Side there;
  Side here;
  std::promise<void> has_begun;
  std::atomic<bool> is_mapping = false;
  here.device.on_map = [&](const SharedRegion& /*region*/) {
    is_mapping = true;
    has_begun.set_value();
    // So that who does not wait is seen to be gone before.
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    is_mapping = false;
    return Status();
  };
  here.link(there);
  there.share();
  here.mapper->ask(wanted_word(kOther, 1));
  has_begun.get_future().wait();  // Liveness: it was asked for.
  here.end();
  EXPECT_FALSE(is_mapping);
  EXPECT_NE(load_acquire(&here.table[1]), 0u);
}

TEST(Mapper, EndsWhateverItWasAskedForAMomentAgo) {
  Side there;
  for (int i = 0; i < 3; ++i) there.share();
  for (int round = 0; round < 50; ++round) {
    Side here;
    std::atomic<int> num_begun = 0;
    std::atomic<int> num_over = 0;
    here.device.on_map = [&](const SharedRegion& /*region*/) {
      ++num_begun;
      std::this_thread::yield();
      ++num_over;
      return Status();
    };
    here.link(there);
    there.link(here);
    if (round % 2 == 0) here.mapper->ask(wanted_word(kOther, 3));
    if (round % 3 != 0) here.mapper->look();
    here.end();
    EXPECT_EQ(num_begun, num_over);
  }
}

}  // namespace
}  // namespace tutti::engine::cuda
