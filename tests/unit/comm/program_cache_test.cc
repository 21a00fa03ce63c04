// Programs are kept as long as there is room or somebody runs them, and no longer.
#include "comm/program_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tests/support/sanitized.h"

namespace tutti::comm {
namespace {

const TuningTable kNoTable;

ProgramKey all_reduce_of(uint64_t elems) {
  return {.kind = CollectiveKind::kAllReduce,
          .elem_bytes = 4,
          .root = 0,
          .row_elems = elems,
          .counts = {}};
}

TEST(ProgramCache, MakesAProgramOnce) {
  ProgramCache cache(3, Rank{1}, kNoTable);
  const auto first = cache.find(all_reduce_of(10)).value();
  (void)cache.find(all_reduce_of(11)).value();
  EXPECT_EQ(cache.find(all_reduce_of(10)).value(), first);
  EXPECT_EQ(cache.num_programs(), 2u);
}

TEST(ProgramCache, StaysWithinItsBoundHoweverManySizesAreAskedFor) {
  constexpr size_t kBound = size_t{256} << 10;
  ProgramCache cache(3, Rank{1}, kNoTable, kBound);
  size_t most = 0;
  for (uint64_t elems = 1; elems <= (test::kSanitized ? 2000 : 20'000); ++elems) {
    ASSERT_EQ(cache.find(all_reduce_of(elems)).value()->output_bytes, 4 * elems);
    most = std::max(most, cache.bytes());
  }
  EXPECT_LE(most, kBound);
  EXPECT_GT(most, kBound / 2);
  EXPECT_LT(cache.num_programs(), kBound / sizeof(engine::BoundProgram));
}

TEST(ProgramCache, ForgetsWhatWasNotAskedForTheLongest) {
  ProgramCache measure(3, Rank{1}, kNoTable);
  (void)measure.find(all_reduce_of(1)).value();
  ProgramCache cache(3, Rank{1}, kNoTable, 20 * measure.bytes());
  const std::weak_ptr<const engine::BoundProgram> often = cache.find(all_reduce_of(1)).value();
  const std::weak_ptr<const engine::BoundProgram> once = cache.find(all_reduce_of(2)).value();
  for (uint64_t elems = 3; elems < 100; ++elems) {
    (void)cache.find(all_reduce_of(elems)).value();
    (void)cache.find(all_reduce_of(1)).value();
  }
  EXPECT_FALSE(often.expired());
  EXPECT_TRUE(once.expired());
}

TEST(ProgramCache, KeepsWhatIsHeldAndWhatAnOperationRuns) {
  ProgramCache cache(3, Rank{1}, kNoTable, 1);  // no room at all
  const auto held = cache.find(all_reduce_of(1)).value();
  const std::weak_ptr<const engine::BoundProgram> run = cache.find(all_reduce_of(2)).value();
  run.lock()->uses.begin();
  for (uint64_t elems = 3; elems < 10; ++elems) (void)cache.find(all_reduce_of(elems)).value();
  EXPECT_EQ(cache.num_programs(), 3u);  // these two and the last
  EXPECT_EQ(cache.find(all_reduce_of(1)).value(), held);
  ASSERT_FALSE(run.expired());
  run.lock()->uses.end();
  (void)cache.find(all_reduce_of(10)).value();
  EXPECT_TRUE(run.expired());
}

}  // namespace
}  // namespace tutti::comm
