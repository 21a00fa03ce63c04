// The options by which a verb is told its machine: --topo, --ranks, --fail, --relays.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::tools {

struct TopologyArgument {
  std::string name;
  std::string ranks;  // "8": the first eight; "0,1,4,6" or "0-3,6": these
  std::vector<std::string> fail;
  std::string relays;  // ranks of the machine that are not chosen, as in `ranks`; or "all"
};

// `--ranks` is added by the verb itself where it also means something without a topology.
void add_topology_options(CLI::App& verb, TopologyArgument& argument);
void add_ranks_option(CLI::App& verb, TopologyArgument& argument);

// The machine with its failed links, chosen ranks and relays.
[[nodiscard]] Result<topo::Topology> open_topology(const TopologyArgument& argument);

// The number of ranks that --ranks asks for, if it is a plain number.
[[nodiscard]] Result<std::optional<uint32_t>> rank_count(const TopologyArgument& argument);

}  // namespace tutti::tools
