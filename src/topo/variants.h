// A topology with something changed: fewer ranks, links that failed or are slow; and how one writes
// that on the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::topo {

// Rank i of the result is rank ranks[i] of the topology. The whole graph stays: switches between
// the members are needed, and devices that are no longer ranks may relay. kInvalidArgument for no
// ranks, one that does not exist, and one given twice.
[[nodiscard]] Result<Topology> subset(const Topology& topology, const std::vector<Rank>& ranks);

// These devices pass messages on, as a switch does: routes go through them, and whoever counts what
// links carry counts theirs. They must be devices without a rank (kInvalidArgument, naming it).
// What moves the bytes on there is not part of the topology.
[[nodiscard]] Result<Topology> with_relays(const Topology& topology,
                                           const std::vector<NodeId>& devices);

// "0,1,4,6" or "0-3,6", each below num_ranks.
[[nodiscard]] Result<std::vector<Rank>> parse_ranks(std::string_view text, uint32_t num_ranks);

struct LinkChange {
  std::string a;
  std::string b;
  double factor = 0;  // 0: the link has failed and is gone; else its rate is multiplied by this
};

// "gpu0~gpu3": the link has failed. "gpu0~gpu3=0.5": it has half its rate.
[[nodiscard]] Result<LinkChange> parse_link_change(std::string_view text);

// Changes all links between two nodes, both directions. kNotFound for a name that no node has and
// for nodes that no link joins.
[[nodiscard]] Result<Topology> change_link(const Topology& topology, const LinkChange& change);
[[nodiscard]] Result<Topology> without_link(const Topology& topology, std::string_view a,
                                            std::string_view b);

}  // namespace tutti::topo
