#include "topo/fingerprint.h"

#include <bit>

namespace tutti::topo {
namespace {

// FNV-1a over the little-endian bytes of what is added.
class Hash {
 public:
  void add(uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
      state_ = (state_ ^ (value >> shift & 0xff)) * 0x100000001b3;
    }
  }
  // -0.0 and 0.0 are the same figure.
  void add(double value) { add(std::bit_cast<uint64_t>(value + 0.0)); }

  [[nodiscard]] uint64_t state() const { return state_; }

 private:
  uint64_t state_ = 0xcbf29ce484222325;
};

}  // namespace

uint64_t fingerprint(const Topology& topology) {
  Hash hash;
  hash.add(uint64_t{topology.nodes.size()});
  for (const Node& node : topology.nodes) {
    hash.add(static_cast<uint64_t>(node.kind));
    hash.add(uint64_t{node.machine});
    hash.add(node.reduce_gbps);
  }
  hash.add(uint64_t{topology.links.size()});
  for (const Link& link : topology.links) {
    hash.add(uint64_t{link.from.value});
    hash.add(uint64_t{link.to.value});
    hash.add(static_cast<uint64_t>(link.link_class));
    hash.add(link.gbps);
    hash.add(link.latency_ns);
  }
  hash.add(uint64_t{topology.ranks.size()});
  for (const NodeId device : topology.ranks) hash.add(uint64_t{device.value});
  return hash.state();
}

}  // namespace tutti::topo
