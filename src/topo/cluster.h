// Many machines of a kind on one network. A fabric of parallel switches that does not block is one
// switch node (see machines/families.h); leaves and a spine are told apart where one asks for them.
//
// As text: MACHINE*A, MACHINE*AxB/F, rail:MACHINE*A, rail:MACHINE*AxB/F;
// docs/reference/topology.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::topo {

enum class Wiring : uint8_t {
  kFatTree,  // all NICs of a leaf's machines on one switch
  kRails,    // NIC i of a leaf's machines on its rail switch i; the spine joins rails
};

struct ClusterShape {
  Wiring wiring = Wiring::kFatTree;
  uint32_t machines_per_leaf = 1;
  uint32_t num_leaves = 1;
  // What the NICs below a leaf or rail switch can send, divided by what its uplink can. 1: the
  // network does not block. A fat tree of one leaf has no uplink and takes only 1.
  double oversubscription = 1;
};

// Machine k's nodes are "nodeK/...", its ranks follow those of machine k - 1. A NIC's link to the
// network is as fast as its fastest link to its machine. A machine without NICs gets one of 25 GB/s
// for each device. kInvalidArgument for a shape that cannot be or is too large.
[[nodiscard]] Result<Topology> cluster(const Topology& machine, const ClusterShape& shape);

struct ClusterText {
  std::string_view machine;  // what stands before the *
  ClusterShape shape;
};

// Nothing when the text has no * and no rail: prefix, so that it is the name of one machine.
[[nodiscard]] Result<std::optional<ClusterText>> parse_cluster(std::string_view text);

}  // namespace tutti::topo
