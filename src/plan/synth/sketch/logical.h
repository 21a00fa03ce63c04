// The machine as a sketch shows it: ranks, and the links between ranks that schedules may use. A
// link is the way of a message through the topology; ways that share a physical link share a port.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/synth/sketch/sketch.h"
#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::plan::sketch {

inline constexpr uint32_t kNone = UINT32_MAX;

struct Link {
  uint32_t from = 0;
  uint32_t to = 0;
  double latency_ns = 0;
  double ns_per_byte = 0;  // of its slowest port
  bool crosses = false;    // between nodes
  std::vector<uint32_t> ports = {};
};

struct Logical {
  uint32_t num_ranks = 0;
  uint32_t ranks_per_node = 1;
  std::vector<Link> links;
  std::vector<double> port_ns_per_byte;
  std::vector<std::vector<uint32_t>> out;  // links by the rank they start from
  std::vector<std::vector<uint32_t>> in;

  // The link between two ranks, kNone if there is none.
  [[nodiscard]] uint32_t find(uint32_t from, uint32_t to) const;
  // What a message of so many bytes takes on a link that nobody else uses.
  [[nodiscard]] double message_ns(uint32_t link, double bytes) const {
    return links[link].latency_ns + links[link].ns_per_byte * bytes;
  }
};

// Fills in the links by rank.
void index_links(Logical& logical);

enum class Direction : uint8_t {
  kForward,
  kBackward,  // messages run from a link's `to` to its `from`: the links of an inverted schedule
};

// kInvalidArgument for a sketch that does not fit the topology, or leaves some rank without any way
// to another: it names both and says what the sketch would have to allow.
[[nodiscard]] Result<Logical> logical_of(const topo::Topology& topology, const Sketch& sketch,
                                         Direction direction);

// Where a rotation takes each link. kInvalidArgument naming a link that has no equal there: then
// the schedule cannot be symmetric, because the machine (or the rest of the sketch) is not.
[[nodiscard]] Result<std::vector<uint32_t>> link_images(const Logical& logical,
                                                        const Rotation& rotation);

// Whether schedules for one are schedules for the other, at the same times.
[[nodiscard]] bool is_same_shape(const Logical& a, const Logical& b);

}  // namespace tutti::plan::sketch
