// include/tutti/topology.h over src/topo.
#include "tutti/topology.h"

#include "base/try.h"
#include "topo/describe.h"
#include "topo/discover.h"
#include "topo/file.h"
#include "topo/open.h"
#include "topo/variants.h"

namespace tutti {
namespace {

Topology wrap_topology(topo::Topology graph) {
  return Topology(std::make_shared<const topo::Topology>(std::move(graph)));
}

}  // namespace

Result<Topology> Topology::open(const std::string& name_or_path) {
  TUTTI_ASSIGN(topo::Topology graph, topo::open(name_or_path));
  return wrap_topology(std::move(graph));
}

Result<Topology> Topology::discover() {
  TUTTI_ASSIGN(topo::Topology graph, topo::discover());
  return wrap_topology(std::move(graph));
}

Result<Topology> Topology::subset(const std::vector<uint32_t>& ranks) const {
  std::vector<Rank> chosen;
  for (uint32_t rank : ranks) chosen.emplace_back(rank);
  TUTTI_ASSIGN(topo::Topology graph, topo::subset(*graph_, chosen));
  return wrap_topology(std::move(graph));
}

const std::string& Topology::name() const { return graph_->name; }
uint32_t Topology::num_ranks() const { return graph_->num_ranks(); }
std::string Topology::describe() const { return topo::describe(*graph_); }
std::string Topology::to_json() const { return topo::to_json(*graph_); }

}  // namespace tutti
