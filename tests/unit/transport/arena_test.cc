#include "transport/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace tutti::transport {
namespace {

class ArenaTest : public testing::Test {
 protected:
  static constexpr size_t kBytes = 1 << 20;

  alignas(64) std::byte memory_[kBytes];
  Arena arena_{memory_, kBytes};
};

TEST_F(ArenaTest, GivesAlignedBlocksInsideItself) {
  for (const size_t bytes : {0u, 1u, 63u, 64u, 65u, 1000u, 4096u, 100'000u}) {
    std::byte* const block = arena_.allocate(bytes);
    ASSERT_NE(block, nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
    EXPECT_TRUE(arena_.contains(block, bytes));
  }
}

TEST_F(ArenaTest, GivesAFreedBlockAgain) {
  std::byte* const block = arena_.allocate(5000);
  arena_.free(block, 5000);
  EXPECT_EQ(arena_.allocate(5000), block);
  EXPECT_EQ(arena_.touched(), 8192u);
}

TEST_F(ArenaTest, RefusesWhatItHasNoRoomFor) {
  EXPECT_EQ(arena_.allocate(kBytes + 1), nullptr);
  EXPECT_NE(arena_.allocate(kBytes / 2), nullptr);
  EXPECT_NE(arena_.allocate(kBytes / 2), nullptr);
  EXPECT_EQ(arena_.allocate(1), nullptr);
  EXPECT_EQ(arena_.used(), kBytes);
}

// Operations of every size come and go; the large ones must find room again.
TEST_F(ArenaTest, JoinsSmallBlocksWhenALargeOneIsAskedFor) {
  std::vector<std::byte*> small;
  while (std::byte* const block = arena_.allocate(64)) small.push_back(block);
  EXPECT_EQ(small.size(), kBytes / 64);
  EXPECT_EQ(arena_.allocate(128), nullptr);
  for (std::byte* const block : small) arena_.free(block, 64);
  EXPECT_EQ(arena_.used(), 0u);
  EXPECT_EQ(arena_.allocate(kBytes), memory_);
}

TEST_F(ArenaTest, KeepsALargeBlockWholeWhileThereIsFreshMemory) {
  std::byte* const large = arena_.allocate(kBytes / 4);
  arena_.free(large, kBytes / 4);
  EXPECT_NE(arena_.allocate(64), nullptr);
  EXPECT_EQ(arena_.allocate(kBytes / 4), large);
}

TEST_F(ArenaTest, NeverGivesTheSameBytesTwice) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    Arena arena(memory_, kBytes);
    std::map<std::byte*, size_t> held;
    for (int i = 0; i < 2000; ++i) {
      if (!held.empty() && random() % 5 < 2) {
        auto it = held.begin();
        std::advance(it, static_cast<std::ptrdiff_t>(random() % held.size()));
        arena.free(it->first, it->second);
        held.erase(it);
        continue;
      }
      const size_t bytes = (uint64_t{1} << random() % 17) + random() % 3;
      std::byte* const block = arena.allocate(bytes);
      if (block == nullptr) continue;
      const auto after = held.lower_bound(block);
      ASSERT_TRUE(after == held.end() || block + bytes <= after->first) << "seed " << seed;
      if (after != held.begin()) {
        const auto& [before, size] = *std::prev(after);
        ASSERT_LE(before + size, block) << "seed " << seed;
      }
      held.emplace(block, bytes);
    }
  }
}

}  // namespace
}  // namespace tutti::transport
