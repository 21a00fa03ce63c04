#include "ir/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/ir/schedules.h"

namespace tutti::ir {
namespace {

using testing::HasSubstr;

TEST(Shape, EveryKindOfStepIsAccepted) { EXPECT_TRUE(check_shape(test::every_kind())); }

TEST(Shape, EveryAlgorithmIsAccepted) {
  for (const auto& [name, schedule] : test::catalogue({1, 2, 3, 5, 8})) {
    const Status status = check_shape(schedule);
    EXPECT_TRUE(status) << name << ": " << (status ? "" : status.error().message);
  }
}

struct BadShape {
  const char* name;
  std::function<void(Schedule&)> make;
  const char* message;
  bool names_step = true;
};

Step& step(Schedule& s, uint32_t lane, uint32_t index) {
  return s.ranks[0].lanes[lane].steps[index];
}

const BadShape kShapeFaults[] = {
    {"NoRanks", [](Schedule& s) { s.collective.num_ranks = 0; }, "at least one rank", false},
    {"RootOutside", [](Schedule& s) { s.collective.root = 9; }, "root 9", false},
    {"StrayRoot", [](Schedule& s) { s.collective.root = 1; }, "has no root", false},
    {"StrayPeer", [](Schedule& s) { s.collective.peer = 2; }, "has no peer", false},
    {"NoChunks", [](Schedule& s) { s.chunks_per_block = 0; }, "at least one chunk", false},
    {"RankMissing", [](Schedule& s) { s.ranks.pop_back(); }, "programs for 2", false},
    {"ScratchOutside", [](Schedule& s) { s.ranks[0].scratch[1] = ChunkId{12}; },
     "scratch[1] is sized as chunk 12", false},
    {"UnknownKind", [](Schedule& s) { step(s, 0, 0).kind = static_cast<StepKind>(8); },
     "rank 0 lane 0 step 0: unknown kind"},
    {"UnknownBuffer", [](Schedule& s) { step(s, 0, 0).src_buffer = static_cast<Buffer>(3); },
     "src names no buffer"},
    {"UnusedByte", [](Schedule& s) { step(s, 0, 0).unused = 1; }, "unused byte"},
    {"EmptyCopy", [](Schedule& s) { step(s, 0, 0).num_chunks = 0; }, "without chunks"},
    {"RegionOutside", [](Schedule& s) { step(s, 0, 0).src_index = 1; },
     "src input[1:5] lies outside: the buffer has 4 chunks"},
    {"RegionWraps", [](Schedule& s) { step(s, 0, 1).src_index = UINT32_MAX; }, "lies outside"},
    {"StrayRegion", [](Schedule& s) { step(s, 0, 1).dst_index = 1; }, "dst is given"},
    {"StrayBuffer", [](Schedule& s) { step(s, 0, 3).dst_buffer = Buffer::kOutput; },
     "dst is given"},
    {"SendToItself", [](Schedule& s) { step(s, 0, 1).send_peer = Rank{0}; }, "sends to itself"},
    {"SendToNobody", [](Schedule& s) { step(s, 0, 1).send_peer = Rank{3}; }, "sends to rank 3"},
    {"NoPeer", [](Schedule& s) { step(s, 0, 3).recv_peer = kNoRank; }, "receives from rank"},
    {"StrayPeerOfStep", [](Schedule& s) { step(s, 0, 0).recv_peer = Rank{1}; }, "does not use"},
    {"DependencyMissing",
     [](Schedule& s) {
       s.ranks[0].deps[0] = {0, 5};
     },
     "depends on lane 0 step 5, which does not exist"},
    {"DependencyOnNoLane",
     [](Schedule& s) {
       s.ranks[0].deps[0] = {3, 0};
     },
     "lane 3 step 0"},
    {"DependencyOnItself",
     [](Schedule& s) {
       s.ranks[0].deps[0] = {0, 1};
     },
     "on itself"},
    {"DependenciesOutside", [](Schedule& s) { step(s, 0, 1).first_dep = 100; }, "outside the rank"},
    {"DependenciesWrap", [](Schedule& s) { step(s, 0, 1).num_deps = UINT32_MAX; },
     "outside the rank"},
};

class ShapeFault : public testing::TestWithParam<BadShape> {};

TEST_P(ShapeFault, IsRefusedWithItsPlace) {
  Schedule schedule = test::every_kind();
  GetParam().make(schedule);
  std::optional<StepPlace> where;
  const Status status = check_shape(schedule, &where);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr(GetParam().message));
  EXPECT_EQ(where.has_value(), GetParam().names_step);
  if (where) {
    EXPECT_THAT(status.error().message, HasSubstr(step_name(where->rank, where->ref)));
  }
}

INSTANTIATE_TEST_SUITE_P(All, ShapeFault, testing::ValuesIn(kShapeFaults),
                         [](const auto& fault) { return fault.param.name; });

}  // namespace
}  // namespace tutti::ir
