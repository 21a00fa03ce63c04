// What greedy synthesis works on: which ranks pass data to which, over which links, and how fast.
//
// A hop is one message from rank to rank on the route that the topology gives it. Not every pair is
// a hop, or thousands of ranks on a switch would have millions:
//   - ranks joined by a cable, or by the routers beside them (ring, torus), are neighbours;
//   - ranks around the switches of a machine: all pairs, or beyond 32 those 1, 2, 4, ... apart;
//   - across machines: ranks of the same place in both, machines chosen likewise.
// all_to_all takes all pairs in the last two, since passing on costs it bandwidth.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::plan::synth {

struct Hop {
  uint32_t from = 0;
  uint32_t to = 0;
  uint32_t first_link = 0;  // into Network::links
  uint32_t num_links = 0;
  int64_t kb_per_s = 0;    // of the narrowest link
  int64_t latency_ps = 0;  // of all links
  // The narrowest link nearest to either end, by a number of its own at that rank: what one port
  // carries is one lane's work.
  uint32_t from_port = 0;
  uint32_t to_port = 0;
  uint32_t turn = 0;  // hops of one turn share no port of a switch
};

inline constexpr uint32_t kNoGroup = UINT32_MAX;

struct Network {
  uint32_t num_ranks = 0;
  std::vector<Hop> hops;            // sorted by `from`
  std::vector<uint32_t> first_out;  // hops out of rank r: first_out[r] up to first_out[r + 1]
  std::vector<uint32_t> links;      // of all hops, topo::LinkId
  std::vector<int64_t> link_kb_per_s;
  std::vector<uint32_t> num_from_ports;  // by rank
  std::vector<uint32_t> num_to_ports;
  uint32_t num_turns = 1;
  // By rank: the machine around it, where less can enter the machine than its ranks can exchange
  // inside. Data that all of them need should enter such a machine once. kNoGroup elsewhere.
  std::vector<uint32_t> group;
  uint32_t num_groups = 0;

  [[nodiscard]] std::span<const uint32_t> links_of(const Hop& hop) const {
    return std::span(links).subspan(hop.first_link, hop.num_links);
  }
};

enum class Reach : uint8_t {
  kFew,  // of many ranks around a switch each talks to some: enough where data is copied on
  kAll,
};

// kInvalidArgument for a topology that cannot be, for ranks that share a device and for ranks that
// cannot reach each other, naming them; kUnsupported for links that are too slow to reckon with.
[[nodiscard]] Result<Network> network_of(const topo::Topology& topology, Reach reach);

// Every hop turned round: the same messages, seen from a time that runs backwards.
[[nodiscard]] Network reversed(const Network& network);

// No all_to_all on the network with all its hops has fewer messages of a block each: one for every
// two ranks with a hop, two or more for all others. Told before the network is made, which for
// thousands of ranks on rails takes a minute; exact where two hops are enough for all.
[[nodiscard]] uint64_t least_deliveries(const topo::Topology& topology);

}  // namespace tutti::plan::synth
