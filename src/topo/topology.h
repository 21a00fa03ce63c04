// The machine as a graph: devices, switches, NICs and hosts, joined by directed links with a rate
// and a latency each. Plain data: built by machines.h, read by the file readers, found by
// discovery; it knows nothing of schedules.
//
// Rates are GB/s (1e9 bytes a second, which is bytes a nanosecond) per direction; latencies are ns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "tutti/result.h"

namespace tutti::topo {

using NodeId = Id<struct NodeTag>;
using LinkId = Id<struct LinkTag>;

enum class NodeKind : uint8_t {
  kDevice,  // computes and holds ranks; messages do not pass through it
  kSwitch,  // NVSwitch, PCIe switch, network switch
  kNic,
  kHost,  // a CPU socket: routes between its PCIe switches and to the other socket
};

enum class LinkClass : uint8_t { kNvlink, kXgmi, kPcie, kSocket, kNetwork, kMemory, kOther };

// "device", "nvlink", ...: the spelling of files and of the command line.
[[nodiscard]] std::string_view to_string(NodeKind kind) noexcept;
[[nodiscard]] std::string_view to_string(LinkClass link_class) noexcept;
[[nodiscard]] std::optional<NodeKind> parse_node_kind(std::string_view text) noexcept;
[[nodiscard]] std::optional<LinkClass> parse_link_class(std::string_view text) noexcept;

struct Node {
  std::string name;  // unique in its topology: "gpu0", "node1/nic2"; see is_valid_name
  NodeKind kind = NodeKind::kDevice;
  uint32_t machine = 0;  // which server of a cluster it is part of; switches between servers too
                         // have a number of their own
  // How fast a device combines two operands into a result, GB/s of result; 0: free.
  double reduce_gbps = 0;
};

struct Link {
  NodeId from;
  NodeId to;
  LinkClass link_class = LinkClass::kOther;
  double gbps = 0;
  double latency_ns = 0;
};

struct Topology {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Link> links;
  std::vector<NodeId> ranks;  // the device of each rank

  [[nodiscard]] uint32_t num_ranks() const { return static_cast<uint32_t>(ranks.size()); }
  [[nodiscard]] const Node& device_of(Rank rank) const { return nodes[ranks[rank.value].value]; }
};

// The most that a topology may have; readers refuse more before they allocate for it.
inline constexpr size_t kMaxNodes = 1'000'000;
inline constexpr size_t kMaxLinks = 8'000'000;
inline constexpr double kMaxFigure = 1e12;  // GB/s and ns alike; far above anything real

// Names travel through files and the command line (`--fail gpu0~gpu3=0.5`), so they are 1 to 64
// visible ASCII characters, none of them ~ = , " or backslash.
[[nodiscard]] bool is_valid_name(std::string_view name) noexcept;

// kInvalidArgument naming the node, link or rank that cannot be: an end that does not exist, a rate
// that is not positive, a latency below zero, a rank that is not on a device, a name used twice.
[[nodiscard]] Status check(const Topology& topology);

// Looks through all nodes; for many names, make a map.
[[nodiscard]] std::optional<NodeId> find_node(const Topology& topology, std::string_view name);

}  // namespace tutti::topo
