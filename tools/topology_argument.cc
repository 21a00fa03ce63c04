#include "tools/topology_argument.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/try.h"
#include "topo/open.h"
#include "topo/variants.h"

namespace tutti::tools {
namespace {

bool is_plain_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::vector<Rank> first_ranks(uint32_t count) {
  std::vector<Rank> ranks;
  for (uint32_t r = 0; r < count; ++r) ranks.emplace_back(r);
  return ranks;
}

// The devices of the machine that `text` names, or all that hold no chosen rank.
Result<std::vector<topo::NodeId>> relays_of(const std::string& text, const topo::Topology& machine,
                                            const topo::Topology& chosen) {
  std::vector<topo::NodeId> devices;
  if (text == "all") {
    for (const topo::NodeId device : machine.ranks) {
      const auto& ranks = chosen.ranks;
      if (std::find(ranks.begin(), ranks.end(), device) == ranks.end()) devices.push_back(device);
    }
    return devices;
  }
  TUTTI_ASSIGN(const std::vector<Rank> ranks, topo::parse_ranks(text, machine.num_ranks()));
  for (const Rank rank : ranks) devices.push_back(machine.ranks[rank.value]);
  return devices;
}

Result<topo::Topology> choose_ranks(const TopologyArgument& argument,
                                    const topo::Topology& topology) {
  if (argument.ranks.empty()) return topology;
  TUTTI_ASSIGN(const std::optional<uint32_t> count, rank_count(argument));
  if (!count) {
    TUTTI_ASSIGN(const std::vector<Rank> ranks,
                 topo::parse_ranks(argument.ranks, topology.num_ranks()));
    return topo::subset(topology, ranks);
  }
  if (*count > topology.num_ranks()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("--ranks {}: {} has only {} ranks", *count, topology.name,
                             topology.num_ranks())};
  }
  return topo::subset(topology, first_ranks(*count));
}

}  // namespace

void add_topology_options(CLI::App& verb, TopologyArgument& argument) {
  verb.add_option("--topo", argument.name,
                  "A machine (tutti topo list) or a topology file; 'host' is this one");
  verb.add_option("--fail", argument.fail,
                  "A~B: the link between these nodes has failed; A~B=0.5: it has half its rate")
      ->take_all();
  verb.add_option(
      "--relays", argument.relays,
      "Devices outside of --ranks that pass messages on: 3,5 as --ranks counts, or all");
}

void add_ranks_option(CLI::App& verb, TopologyArgument& argument) {
  verb.add_option("--ranks", argument.ranks,
                  "8: the machine's first eight ranks; 0,1,4,6 or 0-3,6: these");
}

Result<std::optional<uint32_t>> rank_count(const TopologyArgument& argument) {
  if (!is_plain_number(argument.ranks)) return std::optional<uint32_t>{};
  uint32_t count = 0;
  const char* end = argument.ranks.data() + argument.ranks.size();
  if (std::from_chars(argument.ranks.data(), end, count).ec != std::errc() || count == 0) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("--ranks {}: not a number of ranks", argument.ranks)};
  }
  return std::optional(count);
}

Result<topo::Topology> open_topology(const TopologyArgument& argument) {
  TUTTI_ASSIGN(topo::Topology topology, topo::open(argument.name));
  for (const std::string& text : argument.fail) {
    TUTTI_ASSIGN(const topo::LinkChange change, topo::parse_link_change(text));
    TUTTI_ASSIGN(topology, topo::change_link(topology, change));
  }
  TUTTI_ASSIGN(topo::Topology chosen, choose_ranks(argument, topology));
  if (argument.relays.empty()) return chosen;
  TUTTI_ASSIGN(const std::vector<topo::NodeId> relays,
               relays_of(argument.relays, topology, chosen));
  return topo::with_relays(chosen, relays);
}

}  // namespace tutti::tools
