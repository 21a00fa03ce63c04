// What a person knows about a good schedule, written down so that the search is small (TACCL):
// which of the machine's links to use, who speaks to other nodes, what is symmetric, into how many
// chunks a block is cut. Plain data; docs/reference/synthesis.md has the file format.
//
// A node is `ranks_per_node` consecutive ranks. Inside of a node ranks are counted from 0, and what
// is said of one node holds for all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/result.h"

namespace tutti::plan::sketch {

// How many of a switch's connections to use, among routes that are equally fast.
enum class Policy : uint8_t {
  kFree,
  kFewest,  // TACCL's uc-min: large messages
  kMost,    // TACCL's uc-max: small messages
};

[[nodiscard]] std::string_view to_string(Policy policy) noexcept;

// Which ranks of a node may send to each other.
enum class Within : uint8_t {
  kFastest,  // by NVLink and xGMI alone where these connect the node, else as kAll
  kAll,      // any two that have a route
};

// Which ranks may send to another node.
enum class Across : uint8_t {
  kAll,
  kSame,    // rank i of a node to rank i of the others
  kListed,  // Sketch::senders
};

// Rank `from` of a node may send to these ranks of every other node.
struct Sender {
  uint32_t from = 0;
  std::vector<uint32_t> to;
  friend bool operator==(const Sender&, const Sender&) = default;
};

// Blocks of `blocks_of` leave their node through `through`, and come to each other node from there.
struct Relay {
  uint32_t through = 0;
  std::vector<uint32_t> blocks_of;
  friend bool operator==(const Relay&, const Relay&) = default;
};

// The connections between these ranks of a node go through one switch.
struct HyperEdge {
  std::vector<uint32_t> ranks;
  Policy policy = Policy::kFree;
  friend bool operator==(const HyperEdge&, const HyperEdge&) = default;
};

// The schedule looks the same when every rank moves `offset` places on in its group of `group`
// consecutive ranks.
struct Rotation {
  uint32_t offset = 0;
  uint32_t group = 0;
  friend bool operator==(const Rotation&, const Rotation&) = default;
};

struct Sketch {
  std::string name = "sketch";
  uint32_t ranks_per_node = 1;
  uint32_t chunks = 1;  // of each block, routed one by one
  uint64_t bytes = 0;   // what it was drawn for, as sim::Options counts; 0: any size
  Within within = Within::kFastest;
  Across across = Across::kAll;
  std::vector<Sender> senders = {};
  std::vector<Relay> relays = {};
  bool own_first = false;  // a relay sends its own blocks before those of others
  uint32_t detour = 0;     // hops that a route may have beyond the fewest
  std::vector<HyperEdge> switches = {};
  std::vector<Rotation> symmetry = {};

  friend bool operator==(const Sketch&, const Sketch&) = default;
};

// Where the rotation takes a rank.
[[nodiscard]] uint32_t rotated(uint32_t rank, const Rotation& rotation);

// kInvalidArgument naming the part that does not fit so many ranks.
[[nodiscard]] Status check(const Sketch& sketch, uint32_t num_ranks);

// `source` names the text in errors. kMalformed with line and field.
[[nodiscard]] Result<Sketch> from_json(std::string_view text, const std::string& source);
[[nodiscard]] std::string to_json(const Sketch& sketch);

}  // namespace tutti::plan::sketch
