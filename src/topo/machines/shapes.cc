// Shapes of any size, for study: ring, torus, full mesh, single switch. Reducing is free on them,
// so that the closed forms of textbooks hold.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "topo/machines/families.h"

namespace tutti::topo::machines {
namespace {

Topology devices(uint32_t num_devices) {
  Topology topology;
  for (uint32_t i = 0; i < num_devices; ++i) add_rank(topology, fmt::format("dev{}", i), 0);
  return topology;
}

// How many places the neighbour one further along a side is away in the numbering.
struct Axis {
  uint32_t side;
  uint32_t stride;
};

// One more along the axis, around the corner at its end.
uint32_t next_along(uint32_t place, const Axis& axis) {
  const uint32_t at = place / axis.stride % axis.side;
  return at + 1 < axis.side ? place + axis.stride : place - at * axis.stride;
}

std::vector<Axis> axes_of(const std::vector<uint32_t>& sides) {
  std::vector<Axis> axes;
  uint32_t stride = 1;
  for (auto side = sides.rbegin(); side != sides.rend(); ++side) {
    axes.push_back({*side, stride});
    stride *= *side;
  }
  return axes;
}

uint32_t product(const std::vector<uint32_t>& sides) {
  return std::accumulate(sides.begin(), sides.end(), 1U, std::multiplies<>());
}

struct Cable {
  uint32_t from;
  uint32_t to;
};

// Devices with a router beside each, the routers joined by these cables.
Topology routers(uint32_t num_devices, const std::vector<Cable>& cables, const Wire& wire) {
  Topology topology = devices(num_devices);
  std::vector<uint32_t> num_cables(num_devices, 0);
  for (const Cable& cable : cables) {
    ++num_cables[cable.from];
    ++num_cables[cable.to];
  }
  std::vector<NodeId> nodes;
  for (uint32_t i = 0; i < num_devices; ++i) {
    nodes.push_back(add_node(topology, NodeKind::kSwitch, fmt::format("router{}", i)));
    const double gbps = std::max(num_cables[i], 1U) * wire.gbps;
    connect(topology, topology.ranks[i], nodes[i], {LinkClass::kOther, gbps, 0});
  }
  for (const Cable& cable : cables) connect(topology, nodes[cable.from], nodes[cable.to], wire);
  return topology;
}

}  // namespace

Topology torus(const std::vector<uint32_t>& sides, const Wire& wire) {
  std::vector<Cable> cables;
  const std::vector<Axis> axes = axes_of(sides);
  for (uint32_t i = 0; i < product(sides); ++i) {
    for (const Axis& axis : axes) {
      const uint32_t next = next_along(i, axis);
      const bool is_same_cable = axis.side == 2 && next < i;
      if (next != i && !is_same_cable) cables.push_back({i, next});
    }
  }
  Topology topology = routers(product(sides), cables, wire);
  topology.name = fmt::format("torus:{}", fmt::join(sides, "x"));
  return topology;
}

Topology grid(const std::vector<uint32_t>& sides, const Wire& wire) {
  std::vector<Cable> cables;
  const std::vector<Axis> axes = axes_of(sides);
  for (uint32_t i = 0; i < product(sides); ++i) {
    for (const Axis& axis : axes) {
      const uint32_t next = next_along(i, axis);
      if (next > i) cables.push_back({i, next});
    }
  }
  Topology topology = routers(product(sides), cables, wire);
  topology.name = fmt::format("grid:{}", fmt::join(sides, "x"));
  return topology;
}

Topology ring(uint32_t num_devices, const Wire& wire) {
  Topology topology = torus({num_devices}, wire);
  topology.name = fmt::format("ring:{}", num_devices);
  return topology;
}

Topology mesh(uint32_t num_devices, const Wire& wire) {
  Topology topology = devices(num_devices);
  topology.name = fmt::format("mesh:{}", num_devices);
  for (uint32_t a = 0; a < num_devices; ++a) {
    for (uint32_t b = a + 1; b < num_devices; ++b) {
      connect(topology, topology.ranks[a], topology.ranks[b], wire);
    }
  }
  return topology;
}

Topology crossbar(uint32_t num_devices, const Wire& wire) {
  Topology topology = devices(num_devices);
  topology.name = fmt::format("switch:{}", num_devices);
  const NodeId center = add_node(topology, NodeKind::kSwitch, "switch");
  const Wire half = {wire.link_class, wire.gbps, wire.latency_ns / 2};
  for (const NodeId device : topology.ranks) connect(topology, device, center, half);
  return topology;
}

}  // namespace tutti::topo::machines
