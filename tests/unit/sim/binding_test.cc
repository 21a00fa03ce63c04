#include "sim/binding.h"

#include <gtest/gtest.h>

#include "sim/flows.h"

namespace tutti::sim {
namespace {

std::vector<topo::LinkId> way(std::initializer_list<uint32_t> ids) {
  std::vector<topo::LinkId> route;
  for (const uint32_t id : ids) route.emplace_back(id);
  return route;
}

std::vector<bool> binding(const std::vector<double>& gbps,
                          const std::vector<std::vector<topo::LinkId>>& routes) {
  BindingLinks links(gbps);
  for (const auto& route : routes) links.add_route(route);
  return links.find();
}

TEST(BindingLinks, AreAllButThoseAsWideAsAllThatFeedsThem) {
  // Out of a device over link 0, then over one of four.
  const std::vector<std::vector<topo::LinkId>> routes = {way({0, 1}), way({0, 2}), way({0, 3}),
                                                         way({0, 4})};
  EXPECT_EQ(binding({100, 25, 25, 25, 25}, routes),
            (std::vector<bool>{false, true, true, true, true}));
  EXPECT_EQ(binding({99, 25, 25, 25, 25}, routes),
            (std::vector<bool>{true, true, true, true, true}));
}

TEST(BindingLinks, AreThoseThatSomeWayEndsOn) {
  EXPECT_EQ(binding({100, 25}, {way({0, 1}), way({0})}), (std::vector<bool>{true, true}));
}

TEST(BindingLinks, AreThoseOfEqualRates) {
  EXPECT_EQ(binding({25, 25}, {way({0, 1})}), (std::vector<bool>{true, true}));
}

TEST(BindingLinks, AreThoseThatAWayTakesTwice) {
  EXPECT_EQ(binding({100, 25}, {way({0, 1, 0})}), (std::vector<bool>{true, true}));
}

// 0 is guarded by 1, and 1 by 2: none of them is its own proof.
TEST(BindingLinks, GuardEachOtherFromTheNarrowestOn) {
  EXPECT_EQ(binding({100, 50, 25}, {way({0, 1, 2})}), (std::vector<bool>{false, false, true}));
}

TEST(BindingLinks, LeaveOutWhatNoWayHas) {
  EXPECT_EQ(binding({100, 25}, {way({1})}), (std::vector<bool>{false, true}));
}

TEST(Flows, CountBytesAndTimeOfLinksThatDoNotBind) {
  EventQueue queue(2);
  Flows flows({{100, 25, 25}, {false, true, true}}, 2, queue);
  const auto a = way({0, 1});
  const auto b = way({0, 2});
  flows.start(0, a, 50, kUnlimited, 0);
  flows.start(1, b, 100, kUnlimited, 0);
  flows.settle(0);
  EXPECT_EQ(queue.pop(), 0);
  flows.finish(0, 2);
  flows.settle(2);
  EXPECT_EQ(queue.next_time(), 4);
  EXPECT_EQ(queue.pop(), 1);
  flows.finish(1, 4);
  EXPECT_EQ(flows.totals(topo::LinkId{0}).bytes, 150);
  EXPECT_EQ(flows.totals(topo::LinkId{0}).busy_ns, 4);
  EXPECT_EQ(flows.totals(topo::LinkId{1}).busy_ns, 2);
}

}  // namespace
}  // namespace tutti::sim
