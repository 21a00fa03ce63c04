// What one can ask of a topology: rates, fingerprint, description; and what this host is.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/unit/topo/golden.h"
#include "tests/unit/topo/same.h"
#include "topo/build.h"
#include "topo/describe.h"
#include "topo/discover.h"
#include "topo/fingerprint.h"
#include "topo/open.h"
#include "topo/rates.h"
#include "topo/router.h"
#include "topo/variants.h"

namespace tutti::topo {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Rates, AddUpAllLinksOfADevice) {
  const Rates facts = rates(open("dgx-a100").value());
  EXPECT_THAT(facts.rank_egress_gbps, Each(300 + 31.51));
  EXPECT_THAT(facts.rank_ingress_gbps, Each(300 + 31.51));
  EXPECT_THAT(facts.machine_egress_gbps, ElementsAre(0));
}

TEST(Rates, TellDirectionsApart) {
  Topology topology;
  const NodeId a = add_rank(topology, "a", 0);
  const NodeId b = add_rank(topology, "b", 0);
  topology.nodes[b.value].machine = 1;
  add_link(topology, a, b, {LinkClass::kOther, 3, 0});
  add_link(topology, b, a, {LinkClass::kOther, 5, 0});
  const Rates facts = rates(topology);
  EXPECT_THAT(facts.rank_egress_gbps, ElementsAre(3, 5));
  EXPECT_THAT(facts.rank_ingress_gbps, ElementsAre(5, 3));
  EXPECT_THAT(facts.machine_egress_gbps, ElementsAre(3, 5));
  EXPECT_THAT(facts.machine_ingress_gbps, ElementsAre(5, 3));
}

TEST(Rates, OfAnEmptyTopologyAreEmpty) {
  EXPECT_TRUE(rates(Topology{}).rank_egress_gbps.empty());
  EXPECT_EQ(num_machines(Topology{}), 0u);
}

// If this number changes, plans that users have cached are made again.
TEST(Fingerprint, IsTheSameEverywhere) {
  EXPECT_EQ(fmt::format("{:016x}", fingerprint(open("dgx-1v").value())), "d6de53399b60c3dd");
}

TEST(Fingerprint, KnowsEveryFigureButNoName) {
  const Topology whole = open("dgx-1v").value();
  const uint64_t known = fingerprint(whole);
  Topology other = whole;
  other.name = "mine";
  other.nodes[3].name = "third";
  EXPECT_EQ(fingerprint(other), known);
  EXPECT_NE(fingerprint(subset(whole, {Rank(1), Rank(0)}).value()), known);
  EXPECT_NE(fingerprint(without_link(whole, "gpu0", "gpu3").value()), known);
  const auto differs = [&](auto change) {
    Topology changed = whole;
    change(changed);
    return fingerprint(changed) != known;
  };
  EXPECT_TRUE(differs([](Topology& t) { t.links[5].gbps += 1e-9; }));
  EXPECT_TRUE(differs([](Topology& t) { t.links[5].latency_ns += 1; }));
  EXPECT_TRUE(differs([](Topology& t) { t.links[5].link_class = LinkClass::kOther; }));
  EXPECT_TRUE(differs([](Topology& t) { std::swap(t.links[5].from, t.links[5].to); }));
  EXPECT_TRUE(differs([](Topology& t) { t.nodes[8].kind = NodeKind::kNic; }));
  EXPECT_TRUE(differs([](Topology& t) { t.nodes[8].machine = 1; }));
  EXPECT_TRUE(differs([](Topology& t) { t.nodes[0].reduce_gbps = 1; }));
}

TEST(Describe, SaysWhatIsThereAndHowFast) {
  EXPECT_EQ(describe(open("dgx-1v").value()), golden_text("dgx-1v.describe.txt"));
}

TEST(Describe, ShowsNoMatrixForManyRanksOrOne) {
  EXPECT_THAT(describe(open("dgx-a100*3").value()), testing::Not(HasSubstr("rank 0")));
  EXPECT_THAT(describe(open("switch:1").value()), testing::Not(HasSubstr("rank 0")));
  EXPECT_THAT(describe(open("dgx-a100*3").value()),
              HasSubstr("dgx-a100*3: 24 ranks on 3 machines"));
  EXPECT_EQ(describe(Topology{}), "unnamed: 0 ranks on 0 machines\n\n\n");
}

TEST(Describe, ShowsPairsWithoutARoute) {
  Topology topology = open("mesh:2").value();
  topology.links.pop_back();
  EXPECT_THAT(describe(topology), HasSubstr("rank 1     none     -\n"));
}

// hwloc describes the machine that HWLOC_SYNTHETIC names instead of this one.
TEST(Discover, MakesARankOfEachCoreAndASwitchOfEachNumaNode) {
  ::setenv("HWLOC_SYNTHETIC", "pack:2 [numa] core:3 pu:2", 1);
  const auto found = discover();
  ::unsetenv("HWLOC_SYNTHETIC");
  if (!found && found.error().code == ErrorCode::kUnsupported)
    GTEST_SKIP() << "built without hwloc";
  const Topology& topology = found.value();
  EXPECT_EQ(topology.name, "host (unmeasured)");
  ASSERT_EQ(topology.num_ranks(), 6u);
  EXPECT_EQ(topology.device_of(Rank(5)).name, "core5");
  EXPECT_NE(gbps_between(topology, "core0", "numa0"), 0);
  EXPECT_NE(gbps_between(topology, "core3", "numa1"), 0);
  EXPECT_EQ(gbps_between(topology, "core3", "numa0"), 0);
  EXPECT_NE(gbps_between(topology, "numa0", "numa1"), 0);
  Router router(topology);
  EXPECT_EQ(router.route(Rank(0), Rank(5)).value().size(), 3u);
}

TEST(Discover, FindsThisHost) {
  const auto found = open("host");
  if (!found && found.error().code == ErrorCode::kUnsupported)
    GTEST_SKIP() << "built without hwloc";
  EXPECT_TRUE(check(found.value()));
  EXPECT_GE(found.value().num_ranks(), 1u);
}

}  // namespace
}  // namespace tutti::topo
