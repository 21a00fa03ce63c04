#include "ir/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "ir/matching.h"
#include "tests/unit/ir/schedules.h"

namespace tutti::ir {
namespace {

using testing::HasSubstr;

// The program that an image was made of.
RankProgram decode(const ImageView& image) {
  RankProgram program;
  for (uint32_t chunk : image.scratch()) program.scratch.push_back(ChunkId{chunk});
  for (const DepImage& dep : image.deps()) program.deps.push_back({dep.lane, dep.step});
  for (const LaneImage& lane : image.lanes()) {
    Lane& decoded = program.lanes.emplace_back();
    decoded.channel = lane.channel;
    for (const StepImage& from : image.steps().subspan(lane.first_step, lane.num_steps)) {
      Step step;
      step.kind = static_cast<StepKind>(from.kind);
      step.src_buffer = static_cast<Buffer>(from.src_buffer);
      step.dst_buffer = static_cast<Buffer>(from.dst_buffer);
      step.src_index = from.src_index;
      step.dst_index = from.dst_index;
      step.num_chunks = from.num_chunks;
      if (receives(step.kind)) step.recv_peer = Rank{image.recvs()[from.recv_connection].peer};
      if (sends(step.kind)) step.send_peer = Rank{image.sends()[from.send_connection].peer};
      step.num_deps = from.num_deps;
      step.first_dep = from.num_deps == 0 ? 0 : from.first_dep;
      decoded.steps.push_back(step);
    }
  }
  return program;
}

TEST(Image, DecodesToTheScheduleItWasMadeOf) {
  auto all = test::catalogue({1, 2, 3, 7, 8});
  all.push_back({"every kind", test::every_kind()});
  for (const auto& [name, schedule] : all) {
    for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
      const auto bytes = make_image(schedule, Rank{r});
      ASSERT_TRUE(bytes) << name << ": " << bytes.error().message;
      const auto image = open_image(*bytes);
      ASSERT_TRUE(image) << name << ": " << image.error().message;
      EXPECT_TRUE(decode(*image) == schedule.ranks[r]) << name << " rank " << r;
      EXPECT_EQ(image->header().rank, r);
      EXPECT_EQ(image->header().slots, schedule.slots);
    }
  }
}

TEST(Image, ConnectionsOfTwoRanksPointAtEachOther) {
  const Schedule schedule = plan::make({CollectiveKind::kAllReduce, 6, 0, 0}, "ring", {}).value();
  for (uint32_t r = 0; r < 6; ++r) {
    const auto bytes = make_image(schedule, Rank{r}).value();
    const ImageView image = open_image(bytes).value();
    for (uint32_t i = 0; i < image.sends().size(); ++i) {
      const ConnectionImage& mine = image.sends()[i];
      const auto peer_bytes = make_image(schedule, Rank{mine.peer}).value();
      const ConnectionImage theirs = open_image(peer_bytes).value().recvs()[mine.peer_index];
      EXPECT_EQ(theirs.peer, r);
      EXPECT_EQ(theirs.channel, mine.channel);
      EXPECT_EQ(theirs.peer_index, i);
      EXPECT_EQ(theirs.num_messages, mine.num_messages);
    }
  }
}

TEST(Image, MessagesHaveTheSameNumberAtBothEnds) {
  for (const auto& [name, schedule] : test::catalogue({4, 5})) {
    std::vector<std::vector<std::byte>> bytes;
    for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
      bytes.push_back(make_image(schedule, Rank{r}).value());
    }
    const StepNumbering numbering(schedule);
    const Matching matching = match_messages(schedule, numbering).value();
    const auto step_at = [&](StepNumber number) {
      const auto place = numbering.place(number);
      const ImageView image = open_image(bytes[place.rank.value]).value();
      return image.steps()[image.lanes()[place.ref.lane].first_step + place.ref.step];
    };
    for (StepNumber n = 0; n < numbering.num_steps(); ++n) {
      if (matching.taker[n] == kNoStep) continue;
      EXPECT_EQ(step_at(n).send_number, step_at(matching.taker[n]).recv_number) << name;
      EXPECT_EQ(step_at(n).send_number, matching.sequence[n]) << name;
    }
  }
}

TEST(Image, RefusesAConnectionWithOneEndAndOneOfTwoLanes) {
  Builder alone({CollectiveKind::kAllReduce, 2, 0, 0}, {});
  alone.add_lane(Rank{0}).send(input(0), Rank{1});
  EXPECT_THAT(make_image(std::move(alone).finish(), Rank{0}).error().message,
              HasSubstr("no step at its other end"));
  Builder twice({CollectiveKind::kAllReduce, 2, 0, 0}, {});
  twice.add_lane(Rank{0}).send(input(0), Rank{1});
  twice.add_lane(Rank{0}).send(input(0), Rank{1});
  twice.add_lane(Rank{1}).recv(output(0), Rank{0});
  EXPECT_THAT(make_image(std::move(twice).finish(), Rank{0}).error().message,
              HasSubstr("two lanes"));
}

TEST(Image, RefusesTheEmptyTheShortAndTheLong) {
  const auto bytes = make_image(test::every_kind(), Rank{0}).value();
  EXPECT_FALSE(open_image({}));
  for (size_t n = 0; n < bytes.size(); n += 16) {
    EXPECT_FALSE(open_image(std::span(bytes).first(n))) << n;
  }
  std::vector<std::byte> longer = bytes;
  longer.resize(bytes.size() + 16);
  EXPECT_FALSE(open_image(longer));
}

TEST(Image, RefusesBytesThatAreNotOnSixteen) {
  const auto bytes = make_image(test::every_kind(), Rank{0}).value();
  std::vector<std::byte> shifted(bytes.size() + 8);
  std::copy(bytes.begin(), bytes.end(), shifted.begin() + 8);
  EXPECT_FALSE(open_image(std::span(shifted).subspan(8)));
}

// Whatever still opens after damage must lead its reader nowhere outside: the decoder above walks
// all of it, and a sanitizer or the checked library watches.
TEST(Image, DamagedImagesAreRefusedOrStayInside) {
  const uint64_t seed = test::seed_or(20240611);
  SCOPED_TRACE(fmt::format("TUTTI_SEED={}", seed));
  std::mt19937_64 random(seed);
  const Schedule schedule = test::every_kind();
  const auto good = make_image(schedule, Rank{0}).value();
  uint32_t num_refused = 0;
  for (int i = 0; i < 20000; ++i) {
    auto bytes = good;
    for (uint64_t n = 1 + random() % 3; n > 0; --n) {
      const size_t at = random() % bytes.size();
      bytes[at] = random() % 2 == 0 ? static_cast<std::byte>(random())
                                    : bytes[at] ^ static_cast<std::byte>(1 << random() % 8);
    }
    const auto image = open_image(bytes);
    num_refused += image ? 0 : 1;
    if (!image) continue;
    Schedule damaged = schedule;
    damaged.ranks[0] = decode(*image);
    for (const Lane& lane : damaged.ranks[0].lanes) {
      for (const Step& step : lane.steps) {
        EXPECT_LT(static_cast<int>(step.kind), kNumStepKinds);
        for (StepRef dep : damaged.ranks[0].deps_of(step)) {
          ASSERT_LT(dep.lane, damaged.ranks[0].lanes.size());
          ASSERT_LT(dep.step, damaged.ranks[0].lanes[dep.lane].steps.size());
        }
      }
    }
  }
  EXPECT_GT(num_refused, 5000u);
}

}  // namespace
}  // namespace tutti::ir
