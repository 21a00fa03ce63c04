// Schedules that are made for a topology go through the same doors as others: MSCCL XML and back,
// MSCCL++ plans, and what those systems would run is right.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "ir/msccl/plan_json.h"
#include "ir/msccl/xml.h"
#include "plan/mixed.h"
#include "plan/packed.h"
#include "tests/support/interpreter.h"
#include "tests/unit/ir/plan_replay.h"
#include "tests/unit/ir/schedules.h"
#include "topo/open.h"
#include "topo/variants.h"
#include "verify/check.h"

namespace tutti::ir::msccl {
namespace {

// The replay takes its time: of the whole DGX-1V it runs broadcast and reduce.
constexpr uint64_t kMaxReplayed = 300;

struct Subject {
  const char* machine;
  const char* ranks;  // "": all
};

// A mesh, fragments of it without a ring, a ring, a crossbar, a switch between two machines.
constexpr Subject kSubjects[] = {{"dgx-1v", ""}, {"dgx-1v", "0,1,2,4,7"}, {"dgx-1p", "0,1,2,4"},
                                 {"ring:5", ""}, {"dgx-a100", "0-3"},     {"ndv2*2", "0,1,8,9"}};

topo::Topology open_subject(const Subject& subject) {
  const topo::Topology machine = topo::open(subject.machine).value();
  if (*subject.ranks == 0) return machine;
  const auto ranks = topo::parse_ranks(subject.ranks, machine.num_ranks()).value();
  return topo::subset(machine, ranks).value();
}

std::vector<test::NamedSchedule> synthesised(uint32_t chunks) {
  std::vector<test::NamedSchedule> all;
  for (const Subject& subject : kSubjects) {
    const topo::Topology topology = open_subject(subject);
    for (const CollectiveKind kind :
         {CollectiveKind::kAllReduce, CollectiveKind::kReduce, CollectiveKind::kBroadcast,
          CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
      Collective collective{kind, topology.num_ranks()};
      if (is_rooted(kind)) collective.root = topology.num_ranks() - 1;
      const auto packing = plan::pack_for(collective, topology, "packed").value();
      all.push_back(
          {fmt::format("{} packed on {} {}", to_string(kind), subject.machine, subject.ranks),
           plan::make_packed(collective, packing, "packed", chunks).value()});
    }
  }
  const topo::Topology fragment = open_subject({"dgx-1v", "0,1,2,4,7"});
  const Collective broadcast{CollectiveKind::kBroadcast, fragment.num_ranks()};
  plan::MixedPlan mixed = plan::plan_mixed(broadcast, fragment, chunks, 256 << 20).value();
  all.push_back({"broadcast mixed", std::move(mixed.schedule)});
  return all;
}

std::string stripped(const std::string& xml) {
  static const std::regex kHint(" tutti_[a-z0-9]+=\"[^\"]*\"");
  return std::regex_replace(xml, kHint, "");
}

TEST(Synthesised, ComesBackEqualFromMscclXml) {
  for (const auto& [name, schedule] : synthesised(2)) {
    const Result<std::string> xml = to_xml(schedule);
    ASSERT_TRUE(xml.ok()) << name << ": " << xml.error().message;
    EXPECT_TRUE(from_xml(*xml, name).value() == schedule) << name;
  }
}

TEST(Synthesised, WhatMscclWouldRunIsProvedAndRight) {
  const uint64_t seed = test::seed_or(5);
  SCOPED_TRACE(fmt::format("TUTTI_SEED={}", seed));
  for (const auto& [name, schedule] : synthesised(2)) {
    const Schedule plain = from_xml(stripped(to_xml(schedule).value()), name).value();
    const verify::Verdict verdict = verify::check(plain);
    EXPECT_TRUE(verdict.proved()) << name << ": " << verdict.refusal().message;
    const Layout layout = Layout::create(plain.collective, plain.chunks_per_block).value();
    const Status status = tutti::test::interpret(plain, Sizes::even(layout, 211), {.seed = seed});
    EXPECT_TRUE(status.ok()) << name << ": " << status.error().message;
  }
}

TEST(Synthesised, AnMscclppPlanOfItComputesTheCollective) {
  const uint64_t seed = test::seed_or(3);
  SCOPED_TRACE(fmt::format("TUTTI_SEED={}", seed));
  uint32_t num_replayed = 0;
  for (const auto& [name, schedule] : synthesised(1)) {
    const Result<std::string> text = to_plan_json(schedule);
    ASSERT_TRUE(text.ok()) << name << ": " << text.error().message;
    if (num_steps(schedule) > kMaxReplayed) continue;
    const auto plan = nlohmann::json::parse(*text);
    for (const auto aliasing : {test::PlanAliasing::kOutOfPlace, test::PlanAliasing::kInPlace}) {
      EXPECT_EQ(test::replay_plan(plan, schedule, aliasing, seed), "") << name;
      ++num_replayed;
    }
  }
  EXPECT_GE(num_replayed, 40u);
}

TEST(Synthesised, TooManyChunksForMscclAreRefusedWithTheLimit) {
  for (const auto& [name, schedule] : synthesised(64)) {
    const Result<std::string> xml = to_xml(schedule);
    if (xml.ok()) continue;
    EXPECT_EQ(xml.error().code, ErrorCode::kUnsupported) << name;
    EXPECT_THAT(xml.error().message, testing::ContainsRegex("[0-9]+")) << name;
  }
}

}  // namespace
}  // namespace tutti::ir::msccl
