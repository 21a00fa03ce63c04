#include "transport/ranges.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tutti::transport {
namespace {

TEST(Ranges, AreTakenLowestFirstAtMultiplesOfTheAlignment) {
  Ranges ranges(10'000);
  EXPECT_EQ(ranges.take(100, 1), 0u);
  EXPECT_EQ(ranges.take(100, 64), 128u);
  EXPECT_EQ(ranges.take(28, 1), 100u);  // the gap
  EXPECT_EQ(ranges.take(9772, 1), 228u);
  EXPECT_EQ(ranges.take(1, 1), std::nullopt);
}

TEST(Ranges, RefuseWhatFitsOnlyWithoutItsAlignment) {
  Ranges ranges(100);
  ASSERT_EQ(ranges.take(1, 1), 0u);
  EXPECT_EQ(ranges.take(99, 64), std::nullopt);
  EXPECT_EQ(ranges.take(1, 128), std::nullopt);
  EXPECT_EQ(ranges.take(99, 1), 1u);
}

TEST(Ranges, NeverOverlapAndAreOneAgainInTheEnd) {
  constexpr size_t kRangeBytes = 1 << 16;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    Ranges ranges(kRangeBytes);
    struct Taken {
      size_t offset, bytes;
    };
    std::vector<Taken> taken;
    for (int i = 0; i < 500; ++i) {
      if (!taken.empty() && random() % 2 == 0) {
        std::swap(taken[random() % taken.size()], taken.back());
        ranges.give(taken.back().offset, taken.back().bytes);
        taken.pop_back();
        continue;
      }
      const size_t bytes = 1 + random() % 3000;
      const size_t alignment = size_t{1} << random() % 10;
      const auto offset = ranges.take(bytes, alignment);
      if (!offset) continue;
      ASSERT_EQ(*offset % alignment, 0u) << "seed " << seed;
      ASSERT_LE(*offset + bytes, kRangeBytes) << "seed " << seed;
      for (const Taken& other : taken) {
        const bool is_beside =
            *offset + bytes <= other.offset || other.offset + other.bytes <= *offset;
        ASSERT_TRUE(is_beside) << "seed " << seed;
      }
      taken.push_back({*offset, bytes});
    }
    for (const Taken& one : taken) ranges.give(one.offset, one.bytes);
    ASSERT_EQ(ranges.take(kRangeBytes, 1), 0u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tutti::transport
