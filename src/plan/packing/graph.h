// What packing works on: ranks and switches, and how much each pair of them can carry, in whole
// numbers. A topology becomes one exactly: rates are read to the kB/s and divided by what they have
// in common.
//
// Devices that hold no rank are not part of it, unless the topology says that they pass messages on
// (topo::with_relays): then they are switches. What it would be worth is told all the same
// (Fabric::relayed).
#pragma once

#include <cstdint>
#include <vector>

#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::plan::packing {

struct Graph {
  uint32_t num_ranks = 0;  // nodes 0 .. num_ranks - 1; the others are switches of whatever kind
  std::vector<std::vector<int64_t>> capacity;  // [from][to], in units
  double unit_gbps = 1;
  std::vector<topo::NodeId> nodes = {};  // what each node is in the topology; may be empty
  // The way of a message between each pair of ranks, by nodes, both ends included. Empty: any way.
  std::vector<std::vector<uint32_t>> routes = {};

  [[nodiscard]] uint32_t num_nodes() const { return static_cast<uint32_t>(capacity.size()); }
};

// n nodes without links, all of them ranks but the last `num_switches`.
[[nodiscard]] Graph empty_graph(uint32_t num_nodes, uint32_t num_switches = 0);

// Every link turned round; routes too.
[[nodiscard]] Graph reversed(const Graph& graph);

// As fast both ways between each pair.
[[nodiscard]] bool is_symmetric(const Graph& graph);

// Capacities times numerator, divided by denominator, rounded down; the unit is adjusted.
[[nodiscard]] Graph scaled(const Graph& graph, int64_t numerator, int64_t denominator);

// Each switch as many nodes as it has crossings that no message joins (Graph::routes): a PCIe
// switch that passes messages from GPUs to a NIC and from the NIC to GPUs, but none between its
// GPUs, is two. What cannot be is then in no bound. Links that no route takes are gone.
[[nodiscard]] Graph with_crossings_apart(const Graph& graph);

// A part of a topology's links.
struct Fabric {
  Graph graph;                // of the links that messages between ranks take
  Graph whole;                // of all links; for a bound that holds however one routes
  std::vector<bool> is_used;  // by link: part of `graph`
  // The same kinds of links with devices that hold no rank as switches; without nodes where all
  // devices hold one.
  Graph relayed;
  bool leaves_slow = false;  // only fast links are used, and there are routes without any
};

enum class Links : uint8_t {
  kFast,  // NVLink and xGMI, where these alone connect all ranks; else all
  kSlow,  // those of routes without any NVLink or xGMI
};

// Takes the links that topo::Router uses between ranks, which gives each pair one way: fast and
// slow links at once are two fabrics (plan/mixed.h). kInvalidArgument for a topology that cannot
// be, for ranks that share a device and for ranks that cannot reach each other, naming them;
// kUnsupported for rates no unit fits.
[[nodiscard]] Result<Fabric> fabric_of(const topo::Topology& topology, Links links = Links::kFast);

}  // namespace tutti::plan::packing
