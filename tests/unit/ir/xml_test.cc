#include "ir/msccl/xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "ir/msccl/algo.h"
#include "ir/msccl/xml_text.h"
#include "tests/support/interpreter.h"
#include "tests/unit/ir/schedules.h"
#include "verify/check.h"

namespace tutti::ir::msccl {
namespace {

using testing::HasSubstr;

std::string without_hints(const std::string& xml) {
  static const std::regex kHint(" tutti_[a-z0-9]+=\"[^\"]*\"");
  return std::regex_replace(xml, kHint, "");
}

// The schedules of the catalogue that MSCCL can say, with their files.
struct Exported {
  std::string name;
  Schedule schedule;
  std::string xml;
};

std::vector<Exported> exported(std::initializer_list<uint32_t> rank_counts) {
  std::vector<Exported> all;
  for (auto& [name, schedule] : test::catalogue(rank_counts)) {
    if (collective_name(schedule.collective.kind).empty()) continue;
    Result<std::string> xml = to_xml(schedule);
    EXPECT_TRUE(xml) << name << ": " << xml.error().message;
    if (xml) all.push_back({name, std::move(schedule), *std::move(xml)});
  }
  return all;
}

TEST(Xml, EveryAlgorithmComesBackEqual) {
  for (const auto& [name, schedule, xml] : exported({1, 2, 3, 4, 7, 8})) {
    const Result<Schedule> again = from_xml(xml, name);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(*again == schedule) << name;
    EXPECT_EQ(to_xml(*again).value(), xml) << name;
  }
}

// A thread block has one peer each way, and a connection one thread block.
TEST(Xml, ThreadBlocksAreLegal) {
  for (const auto& [name, schedule, xml] : exported({2, 5, 8})) {
    const Algo algo = read_algo(xml, name).value();
    for (const Gpu& gpu : algo.gpus) {
      std::set<std::pair<int32_t, uint32_t>> sends;
      std::set<std::pair<int32_t, uint32_t>> recvs;
      for (const Block& block : gpu.blocks) {
        if (block.send >= 0) {
          EXPECT_TRUE(sends.insert({block.send, block.channel}).second) << name;
        }
        if (block.recv >= 0) {
          EXPECT_TRUE(recvs.insert({block.recv, block.channel}).second) << name;
        }
      }
    }
  }
}

// What MSCCL would run, read without our hints, is proved right again: the cutting into thread
// blocks kept the meaning.
TEST(Xml, FilesWithoutHintsAreStillProved) {
  for (const auto& [name, schedule, xml] : exported({1, 2, 3, 4, 5, 8})) {
    Result<Schedule> plain = from_xml(without_hints(xml), name);
    ASSERT_TRUE(plain) << plain.error().message;
    const verify::Verdict verdict = verify::check(*std::move(plain));
    EXPECT_TRUE(verdict.proved()) << name << ": " << verdict.refusal().message;
  }
}

TEST(Xml, FilesWithoutHintsComputeTheCollective) {
  const uint64_t seed = test::seed_or(7);
  SCOPED_TRACE(fmt::format("TUTTI_SEED={}", seed));
  for (const auto& [name, schedule, xml] : exported({3, 4, 6})) {
    const Schedule plain = from_xml(without_hints(xml), name).value();
    const Layout layout = Layout::create(plain.collective, plain.chunks_per_block).value();
    for (auto discipline : {tutti::test::Discipline::kLending, tutti::test::Discipline::kSlots}) {
      const Status status = tutti::test::interpret(plain, Sizes::even(layout, 101),
                                                   {.discipline = discipline, .seed = seed});
      EXPECT_TRUE(status) << name << ": " << status.error().message;
    }
  }
}

TEST(Xml, AFileThatWasEditedIsReadByWhatItSays) {
  const Schedule ring = plan::make({CollectiveKind::kAllReduce, 4, 0, 0}, "ring", {}).value();
  std::string xml = to_xml(ring).value();
  const size_t at = xml.find("tutti_step=\"1\"");
  ASSERT_NE(at, std::string::npos);
  xml.replace(at, 14, "tutti_step=\"9\"");
  const Result<Schedule> plain = from_xml(xml, "edited");
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(*plain, from_xml(without_hints(xml), "edited").value());
}

TEST(Xml, AttributesKeepToWhatTheParserOfMscclHolds) {
  for (const auto& [name, schedule, xml] : exported({2, 8})) {
    EXPECT_EQ(xml.rfind("<algo ", 0), 0u);
    for (size_t begin = 0; begin < xml.size();) {
      const size_t end = xml.find('\n', begin);
      const std::string line = xml.substr(begin, end - begin);
      begin = end + 1;
      EXPECT_EQ(line.find('\t'), std::string::npos);
      size_t num_attributes = 0;
      for (size_t q = line.find("=\""); q != std::string::npos; q = line.find("=\"", q + 2)) {
        ++num_attributes;
        EXPECT_LE(line.find('"', q + 2) - q - 2, 255u) << line;
      }
      EXPECT_LE(num_attributes, 16u) << line;
    }
  }
}

TEST(Xml, WritesARingAsOneThreadBlockOfFusedSteps) {
  const Schedule ring = plan::make({CollectiveKind::kAllGather, 3, 0, 0}, "ring", {}).value();
  const Algo algo = read_algo(to_xml(ring).value(), "ring").value();
  for (const Gpu& gpu : algo.gpus) {
    EXPECT_EQ(gpu.input_chunks * 3, gpu.output_chunks);
    EXPECT_EQ(gpu.output_chunks, algo.chunks_per_loop);
  }
}

TEST(Xml, LongTransfersAreCutAndJoinedAgain) {
  Builder b({CollectiveKind::kBroadcast, 2, 0, 0},
            {.name = "long", .chunks_per_block = 150, .slots = 1});
  LaneWriter x = b.add_lane(Rank{0});
  x.copy(input(0, 150), output(0, 150));
  x.send(input(0, 150), Rank{1});
  b.add_lane(Rank{1}).recv(output(0, 150), Rank{0});
  const Schedule schedule = std::move(b).finish();
  const std::string xml = to_xml(schedule).value();
  EXPECT_THAT(xml, HasSubstr("cnt=\"71\""));
  EXPECT_THAT(xml, HasSubstr("cnt=\"8\""));
  EXPECT_THAT(xml, HasSubstr("proto=\"LL\""));
  EXPECT_EQ(from_xml(xml, "long").value(), schedule);
  EXPECT_TRUE(verify::check(from_xml(without_hints(xml), "long").value()).proved());
}

// Rank 1 sums what comes from 0 and 2 and passes both on to 2 and 0: whatever the pairing, one of
// its two fused steps has to be taken apart.
TEST(Xml, FusedStepsThatCannotShareAThreadBlockAreTakenApart) {
  for (StepKind kind :
       {StepKind::kRecvCopySend, StepKind::kRecvReduceSend, StepKind::kRecvReduceCopySend}) {
    Builder b({CollectiveKind::kAllReduce, 4, 0, 0}, {.name = "cross", .chunks_per_block = 2});
    b.add_scratch(Rank{1}, ChunkId{0});
    LaneWriter lane = b.add_lane(Rank{1});
    for (auto [from, to] : {std::pair{0u, 2u}, std::pair{0u, 3u}, std::pair{2u, 2u}}) {
      if (kind == StepKind::kRecvCopySend) lane.recv_copy_send(output(0), Rank{from}, Rank{to});
      if (kind == StepKind::kRecvReduceSend) lane.recv_reduce_send(input(0), Rank{from}, Rank{to});
      if (kind == StepKind::kRecvReduceCopySend) {
        lane.recv_reduce_copy_send(input(0), scratch(0), Rank{from}, Rank{to});
      }
    }
    LaneWriter zero = b.add_lane(Rank{0});
    zero.send(input(0), Rank{1});
    zero.send(input(0), Rank{1});
    LaneWriter two = b.add_lane(Rank{2});
    two.send(input(0), Rank{1});
    two.recv(output(0), Rank{1});
    two.recv(output(1), Rank{1});
    b.add_lane(Rank{3}).recv(output(0), Rank{1});
    const Schedule schedule = std::move(b).finish();
    const std::string xml = to_xml(schedule).value();
    EXPECT_EQ(from_xml(xml, "cross").value(), schedule) << to_string(kind);
    const Algo algo = read_algo(xml, "cross").value();
    EXPECT_EQ(algo.gpus[1].scratch_chunks, kind == StepKind::kRecvReduceSend ? 2u : 1u);
  }
}

TEST(Xml, ManyDependenciesBecomeNops) {
  Builder b({CollectiveKind::kAllReduce, 1, 0, 0}, {.name = "fan", .chunks_per_block = 8});
  std::vector<StepRef> all;
  for (uint32_t i = 0; i < 7; ++i) all.push_back(b.add_lane(Rank{0}).copy(input(i), output(i)));
  b.add_lane(Rank{0}).copy(input(7), output(7), std::span<const StepRef>(all));
  const Schedule schedule = std::move(b).finish();
  const std::string xml = to_xml(schedule).value();
  const Algo algo = read_algo(xml, "fan").value();
  const auto& rows = algo.gpus[0].blocks[7].rows;
  ASSERT_EQ(rows.size(), 7u);
  for (size_t r = 0; r < 7; ++r) {
    EXPECT_EQ(rows[r].type, r < 6 ? RowType::kNop : RowType::kCopy);
    EXPECT_EQ(rows[r].dep_block, static_cast<int32_t>(r));
  }
  EXPECT_EQ(from_xml(xml, "fan").value(), schedule);
  EXPECT_EQ(from_xml(without_hints(xml), "fan").value().ranks, schedule.ranks);
}

TEST(Xml, LocalReductionsIntoOnePlaceAreKeptApart) {
  Builder b({CollectiveKind::kAllReduce, 1, 0, 0}, {.name = "sums", .chunks_per_block = 4});
  LaneWriter lane = b.add_lane(Rank{0});
  lane.copy(input(0, 2), output(0, 2));
  lane.reduce(input(0), output(0));
  lane.reduce(input(0, 2), output(0, 2));
  const Algo algo = read_algo(to_xml(std::move(b).finish()).value(), "sums").value();
  EXPECT_TRUE(algo.gpus[0].blocks[0].rows[1].has_dep);
}

std::string refusal(const Schedule& schedule) {
  const Result<std::string> xml = to_xml(schedule);
  return xml ? "" : xml.error().message;
}

TEST(XmlLimits, CollectivesThatMscclLacksAreNamed) {
  for (CollectiveKind kind : {CollectiveKind::kGather, CollectiveKind::kScatter,
                              CollectiveKind::kBarrier, CollectiveKind::kSendRecv}) {
    EXPECT_THAT(refusal(Builder({kind, 2, 0, 1}, {}).finish()), HasSubstr(to_string(kind)));
  }
}

Schedule exchange(BuilderOptions options, uint32_t num_ranks = 2) {
  Builder b({CollectiveKind::kAllReduce, num_ranks, 0, 0}, std::move(options));
  b.add_lane(Rank{0}).send(input(0), Rank{1});
  b.add_lane(Rank{1}).recv(output(0), Rank{0});
  return std::move(b).finish();
}

TEST(XmlLimits, NamesSlotsAndPlainMessagesAreChecked) {
  EXPECT_EQ(refusal(exchange({.name = "ok"})), "");
  EXPECT_EQ(refusal(exchange({.name = std::string(63, 'x')})), "");
  EXPECT_THAT(refusal(exchange({.name = std::string(64, 'x')})), HasSubstr("64 characters"));
  EXPECT_THAT(refusal(exchange({.name = "a\"b"})), HasSubstr("without quotes"));
  EXPECT_THAT(refusal(exchange({.name = "t", .slots = 9})), HasSubstr("9 transfers in flight"));
  EXPECT_THAT(refusal(exchange({.name = "t", .slots = 0})), HasSubstr("planned for none"));
  EXPECT_THAT(refusal(exchange({.name = "t", .chunks_per_block = 40000})), HasSubstr("32768"));
  EXPECT_THAT(refusal(exchange({}, 1025)), HasSubstr("1024"));
  Builder signal({CollectiveKind::kAllReduce, 2, 0, 0}, {});
  signal.add_lane(Rank{0}).send(input(0, 0), Rank{1});
  signal.add_lane(Rank{1}).recv(input(0, 0), Rank{0});
  EXPECT_THAT(refusal(std::move(signal).finish()),
              HasSubstr("rank 0 lane 0 step 0: MSCCL has no messages without data"));
}

TEST(XmlLimits, BlocksRowsChannelsAndPeersAreChecked) {
  const auto with_lanes = [](uint32_t lanes, uint32_t steps) {
    Builder b({CollectiveKind::kAllReduce, 1, 0, 0}, {});
    for (uint32_t l = 0; l < lanes; ++l) {
      LaneWriter lane = b.add_lane(Rank{0});
      for (uint32_t s = 0; s < steps; ++s) lane.copy(input(0), output(0));
    }
    return refusal(std::move(b).finish());
  };
  EXPECT_EQ(with_lanes(216, 1), "");
  EXPECT_THAT(with_lanes(217, 1), HasSubstr("217 thread blocks, at most 216"));
  EXPECT_EQ(with_lanes(1, 256), "");
  EXPECT_THAT(with_lanes(1, 257), HasSubstr("at most 256"));
  EXPECT_THAT(with_lanes(20, 250), HasSubstr("XML elements, at most 4095"));

  Builder channel({CollectiveKind::kAllReduce, 2, 0, 0}, {});
  channel.add_lane(Rank{0}, 32).send(input(0), Rank{1});
  channel.add_lane(Rank{1}, 32).recv(output(0), Rank{0});
  EXPECT_THAT(refusal(std::move(channel).finish()), HasSubstr("channel 32 is beyond the 32"));

  Builder fan({CollectiveKind::kAllReduce, 34, 0, 0}, {});
  LaneWriter lane = fan.add_lane(Rank{0});
  for (uint32_t r = 1; r < 34; ++r) {
    lane.send(input(0), Rank{r});
    fan.add_lane(Rank{r}).recv(output(0), Rank{0});
  }
  EXPECT_THAT(refusal(std::move(fan).finish()), HasSubstr("33 peers on one channel"));
}

TEST(XmlLimits, AWaitForABlockBeyond127IsRefused) {
  Builder b({CollectiveKind::kAllReduce, 1, 0, 0}, {});
  StepRef last;
  for (int l = 0; l < 129; ++l) last = b.add_lane(Rank{0}).copy(input(0), output(0));
  b.add_lane(Rank{0}).copy(input(0), output(0), {last});
  EXPECT_THAT(refusal(std::move(b).finish()), HasSubstr("waits for tb 128"));
}

}  // namespace
}  // namespace tutti::ir::msccl
