#include "ir/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/ir/schedules.h"

namespace tutti::ir {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Two ranks exchange: rank 0 sends its input and both copy what they have.
constexpr const char* kSmall = R"({
 "tutti_schedule": 1,
 "name": "pair",
 "collective": "broadcast",
 "num_ranks": 2,
 "root": 0,
 "chunks_per_block": 3,
 "slots": 2,
 "placement": "either",
 "ranks": [
  {"rank": 0, "lanes": [
   {"channel": 0, "steps": [
    {"step": "send", "src": "input[0:3]", "to": 1},
    {"step": "copy", "src": "input[0:3]", "dst": "output[0:3]"}]}]},
  {"rank": 1, "scratch": ["0:3", "any*2"], "lanes": [
   {"channel": 0, "steps": [
    {"step": "recv", "dst": "scratch[0:3]", "from": 0}]},
   {"channel": 4, "steps": [
    {"step": "copy", "src": "scratch[0:3]", "dst": "output[0:3]", "after": [[0, 0]]}]}]}
 ]
}
)";

std::string text_error_of(const std::string& text) {
  const Result<Schedule> schedule = from_text(text, "small.json");
  return schedule ? "" : schedule.error().message;
}

std::string text_with(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Text, ASmallScheduleReadsAsWritten) {
  const Schedule schedule = from_text(kSmall, "small.json").value();
  EXPECT_EQ(schedule.name, "pair");
  EXPECT_EQ(schedule.collective, (Collective{CollectiveKind::kBroadcast, 2, 0, 0}));
  EXPECT_EQ(schedule.ranks[1].scratch,
            (std::vector<ChunkId>{ChunkId{0}, ChunkId{1}, ChunkId{2}, kAnyChunk, kAnyChunk}));
  const Step& copy = schedule.ranks[1].lanes[1].steps[0];
  EXPECT_EQ(copy.src(), scratch(0, 3));
  EXPECT_EQ(schedule.ranks[1].deps_of(copy)[0], (StepRef{0, 0}));
  EXPECT_EQ(schedule.ranks[1].lanes[1].channel, 4u);
  EXPECT_EQ(to_text(schedule), kSmall);
}

TEST(Text, EveryKindOfStepComesBackEqual) {
  const Schedule schedule = test::every_kind();
  const Result<Schedule> again = from_text(to_text(schedule), "text");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, schedule);
}

TEST(Text, EveryAlgorithmComesBackEqual) {
  for (const auto& [name, schedule] : test::catalogue({1, 2, 3, 4, 7, 8, 16})) {
    const Result<Schedule> again = from_text(to_text(schedule), name);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(*again == schedule) << name;
  }
}

TEST(Text, HasOneStepALine) {
  for (const auto& [name, schedule] : test::catalogue({5})) {
    const std::string text = to_text(schedule);
    uint64_t num_step_lines = 0;
    for (size_t at = 0; (at = text.find("\n    {\"step\"", at)) != std::string::npos; ++at) {
      ++num_step_lines;
    }
    EXPECT_EQ(num_step_lines, num_steps(schedule)) << name;
  }
}

TEST(Text, ScratchIsWrittenInRuns) {
  Builder b({CollectiveKind::kAllGather, 4, 0, 0}, {.name = "t", .chunks_per_block = 4});
  for (uint32_t c : {3, 4, 5, 9, 9, 9, 2, 0, 0, 1}) b.add_scratch(Rank{0}, ChunkId{c});
  for (int i = 0; i < 3; ++i) b.add_scratch(Rank{0}, kAnyChunk);
  const Schedule schedule = std::move(b).finish();
  const std::string text = to_text(schedule);
  EXPECT_THAT(text, HasSubstr(R"("scratch": ["3:6", "9*3", "2", "0*2", "1", "any*3"])"));
  EXPECT_EQ(from_text(text, "text").value(), schedule);
}

TEST(Text, NamesMayHoldAnything) {
  Builder b({CollectiveKind::kBarrier, 1, 0, 0}, {.name = "a \"b\" \\ \n \x01 ü {}"});
  const Schedule schedule = std::move(b).finish();
  EXPECT_EQ(from_text(to_text(schedule), "text").value(), schedule);
}

TEST(Text, SendRecvNamesRootAndPeer) {
  Builder b({CollectiveKind::kSendRecv, 3, 2, 1}, {});
  const Schedule schedule = std::move(b).finish();
  EXPECT_THAT(to_text(schedule), HasSubstr("\"root\": 2,\n \"peer\": 1,"));
  EXPECT_EQ(from_text(to_text(schedule), "text").value(), schedule);
}

struct BadText {
  const char* name;
  const char* from;
  const char* to;
  const char* message;
};

const BadText kTextFaults[] = {
    {"NotJson", "\"ranks\": [", "\"ranks\": [[", "small.json:"},
    {"WrongVersion", "\"tutti_schedule\": 1", "\"tutti_schedule\": 2", ":2: 'tutti_schedule'"},
    {"VersionMissing", "\"tutti_schedule\": 1,", "", "'tutti_schedule' is missing"},
    {"UnknownField", "\"slots\"", "\"slot\"", ":8: 'slot': unknown field"},
    {"UnknownCollective", "\"broadcast\"", "\"bcast\"", ":4: 'collective'"},
    {"NameIsNoText", "\"pair\"", "7", ":3: 'name'"},
    {"NoRanks", "\"num_ranks\": 2", "\"num_ranks\": 0", ":5: 'num_ranks'"},
    {"TooManyRanks", "\"num_ranks\": 2", "\"num_ranks\": 4294967295", "2 entries for 4294967295"},
    {"NegativeRanks", "\"num_ranks\": 2", "\"num_ranks\": -2", ":5: 'num_ranks'"},
    {"RootOutside", "\"root\": 0", "\"root\": 2", ":6: 'root'"},
    {"RootMissing", "\"root\": 0,", "", "'root' is missing"},
    {"StrayPeer", "\"root\": 0", "\"root\": 0, \"peer\": 1", ":6: 'peer': broadcast has none"},
    {"NoChunks", "\"chunks_per_block\": 3", "\"chunks_per_block\": 0", ":7: 'chunks_per_block'"},
    {"TooManyChunks", "\"chunks_per_block\": 3", "\"chunks_per_block\": 4294967295",
     ":7: 'chunks_per_block'"},
    {"UnknownPlacement", "\"either\"", "\"both\"", ":9: 'placement'"},
    {"RanksOutOfOrder", "\"rank\": 1", "\"rank\": 0", ":15: 'rank': ranks are listed in order"},
    {"RanksAreNoArray", "\"ranks\": [", "\"ranks\": 7, \"root\": [", "small.json:"},
    {"LanesMissing", "\"lanes\"", "\"lane\"", ":11: 'lane': unknown field"},
    {"ChannelMissing", "\"channel\": 0, ", "", ":12: field 'channel' is missing"},
    {"UnknownStep", "\"send\"", "\"sned\"", ":13: 'step': there is no step 'sned'"},
    {"RegionWithoutBuffer", "input[0:3]", "[0:3]", ":13: 'src'"},
    {"RegionWithoutEnd", "input[0:3]", "input[0:", ":13: 'src'"},
    {"EmptyRegion", "input[0:3]", "input[3:3]", ":13: 'src'"},
    {"RegionBackwards", "input[0:3]", "input[3:0]", ":13: 'src'"},
    {"RegionTooLarge", "input[0:3]", "input[0:4294967296]", ":13: 'src'"},
    {"RegionNegative", "input[0:3]", "input[-1:3]", ":13: 'src'"},
    {"RegionTail", "input[0:3]", "input[0:3]x", ":13: 'src'"},
    {"RegionOutside", "input[0:3]", "input[0:4]", ":13: rank 0 lane 0 step 0: src input[0:4]"},
    {"RegionsDiffer", "output[0:3]", "output[0:2]", ":14: src has 3 chunks and dst 2"},
    {"RegionMissing", "\"src\": \"input[0:3]\", \"dst\"", "\"dst\"", ":14: field 'src' is missing"},
    {"StrayRegion", "\"to\": 1", "\"to\": 1, \"dst\": \"output[0]\"",
     ":13: 'dst': a send has none"},
    {"PeerMissing", ", \"to\": 1", "", ":13: field 'to' is missing"},
    {"PeerOutside", "\"to\": 1", "\"to\": 2", ":13: rank 0 lane 0 step 0: sends to rank 2"},
    {"StrayPeerOfStep", "\"to\": 1", "\"to\": 1, \"from\": 1", ":13: 'from': a send has none"},
    {"PeerIsNobody", "\"to\": 1", "\"to\": 4294967295", ":13: 'to'"},
    {"DependencyMissing", "[[0, 0]]", "[[0, 1]]", ":19: rank 1 lane 1 step 0: depends on"},
    {"DependencyIsNoPair", "[[0, 0]]", "[[0]]", ":19: must be [lane, step]"},
    {"DependencyIsNoArray", "[[0, 0]]", "[0, 0]", ":19: must be an array"},
    {"DependencyOfText", "[[0, 0]]", "[[0, \"a\"]]", ":19: must be a whole number"},
    {"ScratchOfText", "\"0:3\"", "\"x\"", ":15: must be like"},
    {"ScratchBackwards", "\"0:3\"", "\"3:0\"", ":15: must be like"},
    {"ScratchOfNone", "any*2", "any*0", ":15: must be like"},
    {"ScratchBomb", "any*2", "any*4000000000", ":15: must be like"},
    {"ScratchOutside", "\"0:3\"", "\"3:6\"", "scratch[0] is sized as chunk 3"},
};

class TextFault : public testing::TestWithParam<BadText> {};

TEST_P(TextFault, IsRefusedWithLineAndField) {
  const std::string error = text_error_of(text_with(kSmall, GetParam().from, GetParam().to));
  EXPECT_THAT(error, StartsWith("small.json:"));
  EXPECT_THAT(error, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(All, TextFault, testing::ValuesIn(kTextFaults),
                         [](const auto& fault) { return fault.param.name; });

TEST(Text, RefusesNothingAndOtherJson) {
  for (const char* text : {"", " ", "[]", "7", "null", "\"ring\"", "{}", "{"}) {
    EXPECT_THAT(text_error_of(text), StartsWith("small.json:")) << text;
  }
}

}  // namespace
}  // namespace tutti::ir
