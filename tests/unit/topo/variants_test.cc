#include "topo/variants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/topo/same.h"
#include "topo/open.h"
#include "topo/router.h"

namespace tutti::topo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
void expect_error(const Result<T>& result, ErrorCode code, const std::string& message) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, code);
  EXPECT_EQ(result.error().message, message);
}

TEST(Subset, RenumbersRanksAndKeepsTheGraph) {
  const Topology whole = open("dgx-1v").value();
  const Topology part = subset(whole, {Rank(6), Rank(1)}).value();
  ASSERT_EQ(part.num_ranks(), 2u);
  EXPECT_EQ(part.device_of(Rank(0)).name, "gpu6");
  EXPECT_EQ(part.device_of(Rank(1)).name, "gpu1");
  EXPECT_EQ(part.nodes.size(), whole.nodes.size());
  EXPECT_EQ(part.links.size(), whole.links.size());
  EXPECT_TRUE(check(part));
}

TEST(Subset, RefusesRanksThatAreNotThereOrThereTwice) {
  const Topology whole = open("ring:4").value();
  const auto code = ErrorCode::kInvalidArgument;
  expect_error(subset(whole, {}), code, "a subset has at least one rank");
  expect_error(subset(whole, {Rank(0), Rank(4)}), code,
               "rank 4 does not exist: ring:4 has ranks 0 to 3");
  expect_error(subset(whole, {Rank(1), Rank(1)}), code, "rank 1 is given twice");
}

// GPU 1 and 4 of a DGX-1V have no NVLink in common; GPU 5 has one with each.
TEST(WithRelays, LetsMessagesPassThrough) {
  const Topology fragment = subset(open("dgx-1v").value(), {Rank{0}, Rank{1}, Rank{4}}).value();
  const Topology relayed = with_relays(fragment, {*find_node(fragment, "gpu5")}).value();
  Router router(relayed);
  const auto route = router.route(Rank{1}, Rank{2}).value();
  ASSERT_EQ(route.size(), 2u);
  EXPECT_EQ(relayed.nodes[relayed.links[route[0].value].to.value].name, "gpu5");
  EXPECT_EQ(relayed.links[route[1].value].link_class, LinkClass::kNvlink);
  EXPECT_GT(Router(fragment).route(Rank{1}, Rank{2})->size(), 2u);
}

TEST(WithRelays, RefusesRanksAndWhatIsNoDevice) {
  const Topology fragment = subset(open("dgx-1v").value(), {Rank{4}, Rank{1}}).value();
  const auto held = with_relays(fragment, {*find_node(fragment, "gpu1")});
  ASSERT_FALSE(held.ok());
  EXPECT_THAT(held.error().message, HasSubstr("gpu1 holds rank 1"));
  const auto other = with_relays(fragment, {*find_node(fragment, "nic0")});
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("nic0 is no device but a nic"));
  EXPECT_FALSE(with_relays(fragment, {NodeId{12345}}).ok());
}

TEST(ParseRanks, TakesListsAndRanges) {
  EXPECT_THAT(parse_ranks("0,1,4,6", 8).value(), ElementsAre(Rank(0), Rank(1), Rank(4), Rank(6)));
  EXPECT_THAT(parse_ranks("5,0-2", 8).value(), ElementsAre(Rank(5), Rank(0), Rank(1), Rank(2)));
  EXPECT_THAT(parse_ranks("7-7", 8).value(), ElementsAre(Rank(7)));
}

TEST(ParseRanks, RefusesWhatIsNoRank) {
  const auto code = ErrorCode::kInvalidArgument;
  for (const std::string text : {"", "a", "1-", "-1", "3-1", "1-2-3", "1 ", "99999999999"}) {
    expect_error(
        parse_ranks(text, 8), code,
        "'" + text + "' is no rank and no range of ranks; write for example 0,1,4,6 or 0-3,6");
  }
  expect_error(parse_ranks("0-4000000000", 8), code,
               "rank 4000000000 does not exist: there are 8 ranks");
  expect_error(parse_ranks("8", 8), code, "rank 8 does not exist: there are 8 ranks");
  expect_error(parse_ranks("0-7,0-7,0-7,0-7", 8), code, "a rank is given twice");
}

TEST(ChangeLink, RemovesBothDirectionsOfAFailedLink) {
  const Topology whole = open("dgx-1v").value();
  const Topology broken = without_link(whole, "gpu3", "gpu0").value();
  EXPECT_EQ(broken.links.size(), whole.links.size() - 2);
  EXPECT_EQ(gbps_between(broken, "gpu0", "gpu3"), 0);
  EXPECT_EQ(gbps_between(broken, "gpu3", "gpu0"), 0);
  EXPECT_EQ(gbps_between(broken, "gpu0", "gpu4"), 50);
  Router router(broken);
  EXPECT_EQ(router.route(Rank(0), Rank(3)).value().size(), 4u);  // over PCIe
}

TEST(ChangeLink, SlowsBothDirections) {
  const Topology whole = open("dgx-1v").value();
  const Topology slow = change_link(whole, parse_link_change("gpu0~gpu3=0.5").value()).value();
  EXPECT_EQ(gbps_between(slow, "gpu0", "gpu3"), 25);
  EXPECT_EQ(gbps_between(slow, "gpu3", "gpu0"), 25);
  EXPECT_EQ(slow.links.size(), whole.links.size());
}

TEST(ChangeLink, RefusesNodesAndLinksThatAreNotThere) {
  const Topology whole = open("dgx-1v").value();
  expect_error(without_link(whole, "gpu0", "gpu9"), ErrorCode::kNotFound,
               "dgx-1v has no node 'gpu9'; its nodes are gpu0, gpu1, gpu2, gpu3, ...");
  expect_error(without_link(whole, "gpu0", "gpu5"), ErrorCode::kNotFound,
               "no link joins gpu0 and gpu5; gpu0 has links to gpu1, gpu2, gpu3, gpu4, pcie0");
}

TEST(ParseLinkChange, TellsFailedFromSlow) {
  const LinkChange failed = parse_link_change("node-1/gpu0~node-1/gpu3").value();
  EXPECT_EQ(failed.a, "node-1/gpu0");
  EXPECT_EQ(failed.b, "node-1/gpu3");
  EXPECT_EQ(failed.factor, 0);
  EXPECT_EQ(parse_link_change("a~b=0.25").value().factor, 0.25);
}

TEST(ParseLinkChange, RefusesWhatIsNoLink) {
  for (const std::string text :
       {"", "a", "a~", "~b", "a~b~c", "a~b=", "a~b=x", "a~b=1=2", "a~b=-1"}) {
    expect_error(parse_link_change(text), ErrorCode::kInvalidArgument,
                 "'" + text +
                     "' is no link; write gpu0~gpu3 for one that failed, gpu0~gpu3=0.5 for "
                     "one at half rate");
  }
  expect_error(parse_link_change("a~b=0"), ErrorCode::kInvalidArgument,
               "'a~b=0': a factor is above 0; write a~b for a link that failed");
}

}  // namespace
}  // namespace tutti::topo
