// Files of others: what is refused, with file, line and attribute, and what they become.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "ir/msccl/xml.h"
#include "tests/unit/ir/schedules.h"
#include "verify/check.h"

namespace tutti::ir::msccl {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string golden(const std::string& name) {
  return base::read_file(std::string(TUTTI_GOLDEN_DIR) + "/" + name).value();
}

// In place on two gpus: each sends its half, adds what comes, and sends the sum back. Buffers are
// written again after they were sent, as MSCCL allows.
std::string halves() { return golden("msccl_halves.xml"); }

// One gpu, three thread blocks: nops, a dependency on a send, a file out of order.
std::string waits() { return golden("msccl_waits.xml"); }

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ForeignXml, InPlaceExchangeIsProved) {
  const Schedule schedule = from_xml(halves(), "halves.xml").value();
  EXPECT_EQ(schedule.name, "halves");
  EXPECT_EQ(schedule.placement, Placement::kInPlace);
  EXPECT_EQ(schedule.slots, 8u);
  EXPECT_EQ(schedule.chunks_per_block, 2u);
  EXPECT_EQ(schedule.ranks[0].lanes.size(), 1u);
  const verify::Verdict verdict = verify::check(schedule);
  EXPECT_TRUE(verdict.proved()) << verdict.refusal().message;
}

TEST(ForeignXml, AStepThatOverwritesWhatWasSentDependsOnTheSend) {
  const Schedule schedule = from_xml(halves(), "halves.xml").value();
  const RankProgram& program = schedule.ranks[0];
  const Step& overwrites = program.lanes[0].steps[2];
  ASSERT_EQ(overwrites.num_deps, 1u);
  EXPECT_EQ(program.deps_of(overwrites)[0], (StepRef{0, 0}));
  EXPECT_EQ(program.lanes[0].steps[1].num_deps, 0u);
}

TEST(ForeignXml, NopsAreDependenciesOfTheNextStepAndSendsAreNotWaitedFor) {
  const Schedule schedule = from_xml(waits(), "waits.xml").value();
  EXPECT_EQ(schedule.slots, 2u);
  EXPECT_EQ(schedule.placement, Placement::kOutOfPlace);
  EXPECT_EQ(schedule.collective.root, 0u);
  const RankProgram& program = schedule.ranks[0];
  ASSERT_EQ(program.lanes.size(), 3u);
  EXPECT_EQ(program.lanes[0].steps[0].kind, StepKind::kSend);
  EXPECT_EQ(program.scratch, std::vector<ChunkId>{kAnyChunk});
  ASSERT_EQ(program.lanes[2].steps.size(), 1u);
  EXPECT_EQ(program.deps, (std::vector<StepRef>{{1, 0}}));
  EXPECT_TRUE(verify::check(schedule).proved());
}

TEST(ForeignXml, AFusedStepThatOthersWaitForIsTakenApart) {
  const std::string xml =
      R"(<algo name="tap" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="3" coll="broadcast" inplace="0">
 <gpu id="0" i_chunks="1" o_chunks="1" s_chunks="0">
  <tb id="0" send="1" recv="-1" chan="0">
   <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
   <step s="1" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
  </tb>
 </gpu>
 <gpu id="1" i_chunks="0" o_chunks="1" s_chunks="1">
  <tb id="0" send="2" recv="0" chan="0">
   <step s="0" type="rcs" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="1"/>
  </tb>
  <tb id="1" send="-1" recv="-1" chan="0">
   <step s="0" type="cpy" srcbuf="s" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="0" deps="0" hasdep="0"/>
  </tb>
 </gpu>
 <gpu id="2" i_chunks="0" o_chunks="1" s_chunks="0">
  <tb id="0" send="-1" recv="1" chan="0">
   <step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
  </tb>
 </gpu>
</algo>)";
  const Schedule schedule = from_xml(xml, "tap.xml").value();
  const auto& steps = schedule.ranks[1].lanes[0].steps;
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].kind, StepKind::kRecv);
  EXPECT_EQ(steps[1].kind, StepKind::kSend);
  EXPECT_EQ(steps[1].src(), scratch(0));
  EXPECT_EQ(schedule.ranks[1].deps, (std::vector<StepRef>{{0, 0}}));
  EXPECT_TRUE(verify::check(schedule).proved());
}

// The ring that msccl-tools writes: every gpu forwards partial sums that it keeps nowhere. Without
// a FIFO such a ring has to run in one moment, which it cannot.
TEST(ForeignXml, ARingOfForwardedSumsIsProved) {
  const uint32_t p = 4;
  Builder b({CollectiveKind::kAllReduce, p, 0, 0},
            {.name = "ring", .chunks_per_block = p, .placement = Placement::kInPlace});
  for (uint32_t r = 0; r < p; ++r) {
    const Rank from{(r + p - 1) % p};
    const Rank to{(r + 1) % p};
    const auto chunk = [&](uint32_t back) { return input((r + 2 * p - back) % p); };
    LaneWriter lane = b.add_lane(Rank{r});
    lane.send(chunk(0), to);
    for (uint32_t i = 1; i + 1 < p; ++i) lane.recv_reduce_send(chunk(i), from, to);
    lane.recv_reduce_copy_send(chunk(p - 1), chunk(p - 1), from, to);
    for (uint32_t i = 0; i + 2 < p; ++i) lane.recv_copy_send(chunk(i), from, to);
    lane.recv(chunk(p - 2), from);
  }
  std::string xml = to_xml(std::move(b).finish()).value();
  xml = replaced(xml, " tutti_slots=\"2\"", "");
  const Schedule schedule = from_xml(xml, "ring.xml").value();
  EXPECT_EQ(schedule.ranks[0].scratch.size(), p - 2);
  const verify::Verdict verdict = verify::check(schedule);
  EXPECT_TRUE(verdict.proved()) << verdict.refusal().message;
}

TEST(ForeignXml, TheRootIsFoundOrAskedFor) {
  const auto root_of = [](const std::string& xml) {
    return from_xml(xml, "x").value().collective.root;
  };
  EXPECT_EQ(root_of(waits()), 0u);
  // Without an input to go by, the root is the one that never receives.
  const std::string both = replaced(waits(), "i_chunks=\"0\"", "i_chunks=\"2\"");
  EXPECT_EQ(root_of(both), 0u);
  const std::string nobody = replaced(both, "type=\"r\"", "type=\"nop\"");
  EXPECT_FALSE(from_xml(nobody, "x"));
}

TEST(ForeignXml, SpellingsOfReduceScatterAreOne) {
  for (const char* name : {"reduce_scatter", "reducescatter"}) {
    const std::string xml = fmt::format(
        R"(<algo name="x" proto="LL128" nchannels="1" nchunksperloop="1" ngpus="1" coll="{}" inplace="0">
<gpu id="0" i_chunks="1" o_chunks="1" s_chunks="0"/></algo>)",
        name);
    EXPECT_EQ(from_xml(xml, "x").value().collective.kind, CollectiveKind::kReduceScatter);
  }
}

struct Fault {
  const char* name;
  const char* from;
  const char* to;
  const char* message;
};

const Fault kFaults[] = {
    {"NotXml", "</gpu>", "</gpx>", "waits.xml:"},
    {"WrongRoot", "<algo name", "<graph name", "waits.xml:"},
    {"NameMissing", "name=\"waits\" ", "", ":1: <algo> name: is missing"},
    {"UnknownProtocol", "Simple", "simple", ":1: <algo> proto"},
    {"Custom", "broadcast", "custom", "custom collective does not say"},
    {"UnknownCollective", "broadcast", "gather", "no collective 'gather'"},
    {"GpusMissing", "ngpus=\"2\"", "ngpus=\"3\"", "<algo> ngpus: is 3, but there are 2"},
    {"TooManyGpus", "ngpus=\"2\"", "ngpus=\"99999999999\"", "<algo> ngpus"},
    {"InplaceIsNoFlag", "inplace=\"0\"", "inplace=\"yes\"", "<algo> inplace"},
    {"ChunksDoNotMatch", "i_chunks=\"2\"", "i_chunks=\"3\"", ":2: <gpu> i_chunks: makes 3"},
    {"NegativeScratch", "s_chunks=\"1\"", "s_chunks=\"-1\"", ":2: <gpu> s_chunks"},
    {"AbsurdScratch", "s_chunks=\"1\"", "s_chunks=\"2000000000\"", ":2: <gpu> s_chunks"},
    {"GpuOutOfOrder", "gpu id=\"0\"", "gpu id=\"1\"", ":2: <gpu> id"},
    {"UnknownElement", "<tb id=\"1\"", "<TB id=\"1\"", "waits.xml:"},
    {"BlockTwice", "tb id=\"1\"", "tb id=\"0\"", ":2: <gpu>: the ids of its 3 <tb>"},
    {"BlockMissing", "tb id=\"2\"", "tb id=\"7\"", ":2: <gpu>: the ids of its 3 <tb>"},
    {"PeerIsItself", "send=\"1\"", "send=\"0\"", ":6: <tb> send: is the gpu itself"},
    {"PeerOutside", "send=\"1\"", "send=\"2\"", ":6: <tb> send"},
    {"PeerBelow", "send=\"1\"", "send=\"-2\"", ":6: <tb> send"},
    {"ChannelOutside", "recv=\"-1\" chan=\"0\"", "recv=\"-1\" chan=\"32\"", ":6: <tb> chan"},
    {"SendWithoutPeer", "send=\"1\"", "send=\"-1\"", ":7: <step> type: sends, but"},
    {"UnknownType", "type=\"cpy\"", "type=\"ra\"", ":4: <step> type: there is no step type 'ra'"},
    {"StepOutOfOrder", "step s=\"0\"", "step s=\"1\"", ":4: <step> s: steps are listed in order"},
    {"UnknownBuffer", "srcbuf=\"i\"", "srcbuf=\"x\"", ":4: <step> srcbuf"},
    {"OffsetBelow", "srcoff=\"0\"", "srcoff=\"-1\"", ":4: <step> srcoff"},
    {"OffsetOutside", "srcoff=\"0\"", "srcoff=\"2\"", ":4: <step>: rank 0 lane 1 step 0: src"},
    {"CountOfNone", "cnt=\"1\"", "cnt=\"0\"", ":4: <step> cnt"},
    {"CountTooLarge", "cnt=\"1\"", "cnt=\"72\"", ":4: <step> cnt"},
    {"CountMissing", "cnt=\"1\" ", "", ":4: <step> cnt: is missing"},
    {"CountIsText", "cnt=\"1\"", "cnt=\"1x\"", ":4: <step> cnt"},
    {"HasdepIsNoFlag", "hasdep=\"1\"", "hasdep=\"2\"", ":4: <step> hasdep"},
    {"WaitForNoBlock", "depid=\"0\"", "depid=\"5\"", ":10: <step> depid, deps: tb 5 step 0"},
    {"WaitForNoStep", "depid=\"0\" deps=\"0\"", "depid=\"0\" deps=\"1\"",
     ":10: <step> depid, deps: tb 0 step 1"},
    {"WaitForAStepThatDoesNotSay", "hasdep=\"1\"", "hasdep=\"0\"",
     ":11: <step> depid, deps: tb 1 step 0 of gpu 0 has hasdep"},
    {"NopChainWithoutEnd", "depid=\"1\" deps=\"0\"", "depid=\"-1\" deps=\"-1\"",
     ":11: <step> depid: the step after a nop"},
    {"NopForNothing", "depid=\"0\" deps=\"0\"", "depid=\"-1\" deps=\"-1\"",
     ":10: <step> depid: a nop that waits for nothing"},
};

class XmlFault : public testing::TestWithParam<Fault> {};

TEST_P(XmlFault, IsRefusedWithLineAndAttribute) {
  const Result<Schedule> schedule =
      from_xml(replaced(waits(), GetParam().from, GetParam().to), "waits.xml");
  ASSERT_FALSE(schedule);
  EXPECT_THAT(schedule.error().message, StartsWith("waits.xml:"));
  EXPECT_THAT(schedule.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(All, XmlFault, testing::ValuesIn(kFaults),
                         [](const auto& fault) { return fault.param.name; });

TEST(ForeignXml, RefusesNothingAndOtherText) {
  for (const char* text : {"", " ", "{}", "<algo", "<algo/>", "<!-- -->", "<algo><gpu/></algo>"}) {
    EXPECT_FALSE(from_xml(text, "x")) << text;
  }
}

}  // namespace
}  // namespace tutti::ir::msccl
