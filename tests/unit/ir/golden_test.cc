// The formats themselves: a change of one is a change of these files, seen in review. To write them
// anew after a change that is meant: TUTTI_UPDATE_GOLDEN=1 ir_test --gtest_filter='Golden*'
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "ir/msccl/plan_json.h"
#include "ir/msccl/xml.h"
#include "ir/text.h"
#include "tests/unit/ir/schedules.h"

namespace tutti::ir {
namespace {

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = fmt::format("{}/{}", TUTTI_GOLDEN_DIR, name);
  if (std::getenv("TUTTI_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(base::write_file(path, text));
  }
  EXPECT_EQ(text, base::read_file(path).value());
}

// Reduce to rank 1 from both sides and broadcast back: fused steps, scratch, two lanes, a lane of
// two peers that MSCCL must cut.
Schedule star() {
  Builder b({CollectiveKind::kAllReduce, 3, 0, 0}, {.name = "star", .chunks_per_block = 2});
  for (uint32_t leaf : {0u, 2u}) {
    LaneWriter lane = b.add_lane(Rank{leaf});
    const StepRef sent = lane.send(input(0, 2), Rank{1});
    lane.recv(output(0, 2), Rank{1}, {sent});
  }
  const uint32_t sum = b.add_scratch(Rank{1}, ChunkId{0});
  b.add_scratch(Rank{1}, ChunkId{1});
  LaneWriter hub = b.add_lane(Rank{1});
  const StepRef first = hub.recv_reduce(input(0, 2), scratch(sum, 2), Rank{0});
  const StepRef second =
      hub.recv_reduce_copy_send(scratch(sum, 2), output(0, 2), Rank{2}, Rank{0}, {first});
  hub.send(output(0, 2), Rank{2}, {second});
  return std::move(b).finish();
}

TEST(Golden, TextForm) {
  expect_golden("every_kind.json", to_text(test::every_kind()));
  expect_golden("star.json", to_text(star()));
}

TEST(Golden, MscclXml) { expect_golden("star.xml", msccl::to_xml(star()).value()); }

TEST(Golden, MscclppPlan) { expect_golden("star.plan.json", msccl::to_plan_json(star()).value()); }

}  // namespace
}  // namespace tutti::ir
