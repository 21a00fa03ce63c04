// Exact equality of topologies, and links between named nodes: what tests of readers ask.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "topo/topology.h"

namespace tutti::topo {

inline void expect_same(const Topology& a, const Topology& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.ranks, b.ranks);
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    EXPECT_EQ(a.nodes[i].name, b.nodes[i].name);
    EXPECT_EQ(a.nodes[i].kind, b.nodes[i].kind);
    EXPECT_EQ(a.nodes[i].machine, b.nodes[i].machine);
    EXPECT_EQ(a.nodes[i].reduce_gbps, b.nodes[i].reduce_gbps);
  }
  ASSERT_EQ(a.links.size(), b.links.size());
  for (size_t i = 0; i < a.links.size(); ++i) {
    EXPECT_EQ(a.links[i].from, b.links[i].from);
    EXPECT_EQ(a.links[i].to, b.links[i].to);
    EXPECT_EQ(a.links[i].link_class, b.links[i].link_class);
    EXPECT_EQ(a.links[i].gbps, b.links[i].gbps);
    EXPECT_EQ(a.links[i].latency_ns, b.links[i].latency_ns);
  }
}

// The rate of the one link from a node to another; 0 when there is none, -1 when there are several.
inline double gbps_between(const Topology& topology, std::string_view from, std::string_view to) {
  double gbps = 0;
  for (const Link& link : topology.links) {
    if (topology.nodes[link.from.value].name != from) continue;
    if (topology.nodes[link.to.value].name != to) continue;
    if (gbps != 0) return -1;
    gbps = link.gbps;
  }
  return gbps;
}

}  // namespace tutti::topo
