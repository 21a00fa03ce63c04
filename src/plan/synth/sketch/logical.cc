#include "plan/synth/sketch/logical.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <span>

#include "base/invalid.h"
#include "base/try.h"
#include "topo/router.h"

namespace tutti::plan::sketch {
namespace {

bool is_fast(const topo::Topology& topology, std::span<const topo::LinkId> route) {
  return std::all_of(route.begin(), route.end(), [&](topo::LinkId id) {
    const topo::LinkClass kind = topology.links[id.value].link_class;
    return kind == topo::LinkClass::kNvlink || kind == topo::LinkClass::kXgmi;
  });
}

bool may_cross(const Sketch& sketch, uint32_t from, uint32_t to) {
  switch (sketch.across) {
    case Across::kAll: return true;
    case Across::kSame: return from == to;
    case Across::kListed: break;
  }
  return std::any_of(sketch.senders.begin(), sketch.senders.end(), [&](const Sender& sender) {
    return sender.from == from &&
           std::find(sender.to.begin(), sender.to.end(), to) != sender.to.end();
  });
}

// The first rank that cannot be reached from rank `source`, kNone when all can.
uint32_t unreached(const Logical& logical, uint32_t source, uint32_t first, uint32_t count) {
  std::vector<bool> seen(logical.num_ranks, false);
  std::deque<uint32_t> queue = {source};
  seen[source] = true;
  while (!queue.empty()) {
    const uint32_t at = queue.front();
    queue.pop_front();
    for (const uint32_t l : logical.out[at]) {
      const uint32_t to = logical.links[l].to;
      if (seen[to] || to < first || to >= first + count) continue;
      seen[to] = true;
      queue.push_back(to);
    }
  }
  for (uint32_t r = first; r < first + count; ++r) {
    if (!seen[r]) return r;
  }
  return kNone;
}

class LogicalMaker {
 public:
  LogicalMaker(const topo::Topology& topology, const Sketch& sketch, Direction direction)
      : topology_(topology), sketch_(sketch), direction_(direction), router_(topology) {
    logical_.num_ranks = topology.num_ranks();
    logical_.ranks_per_node = sketch.ranks_per_node;
  }

  Result<Logical> make() {
    const bool only_fast = sketch_.within == Within::kFastest && fast_links_suffice();
    add_links(only_fast);
    index_links(logical_);
    TUTTI_TRY(check_reach());
    return std::move(logical_);
  }

 private:
  bool fast_links_suffice() {
    add_links(true, true);
    index_links(logical_);
    bool suffice = true;
    for (uint32_t r = 0; suffice && r < logical_.num_ranks; r += sketch_.ranks_per_node) {
      suffice = unreached(logical_, r, r, sketch_.ranks_per_node) == kNone;
    }
    logical_.links.clear();
    logical_.port_ns_per_byte.clear();
    ports_.clear();
    return suffice;
  }

  void add_links(bool only_fast, bool only_within = false) {
    const uint32_t size = sketch_.ranks_per_node;
    for (uint32_t from = 0; from < logical_.num_ranks; ++from) {
      for (uint32_t to = 0; to < logical_.num_ranks; ++to) {
        if (from == to) continue;
        const bool crosses = from / size != to / size;
        if (crosses && (only_within || !may_cross(sketch_, from % size, to % size))) continue;
        const bool forward = direction_ == Direction::kForward;
        const auto route =
            forward ? router_.route(Rank{from}, Rank{to}) : router_.route(Rank{to}, Rank{from});
        if (!route || (!crosses && only_fast && !is_fast(topology_, *route))) continue;
        add_link({.from = from, .to = to, .crosses = crosses}, *route);
      }
    }
  }

  void add_link(Link link, std::span<const topo::LinkId> route) {
    for (const topo::LinkId id : route) {
      const topo::Link& physical = topology_.links[id.value];
      link.latency_ns += physical.latency_ns;
      const double ns_per_byte = 1 / physical.gbps;
      link.ns_per_byte = std::max(link.ns_per_byte, ns_per_byte);
      const auto next = static_cast<uint32_t>(logical_.port_ns_per_byte.size());
      const auto [place, is_new] = ports_.emplace(id.value, next);
      if (is_new) logical_.port_ns_per_byte.push_back(ns_per_byte);
      link.ports.push_back(place->second);
    }
    logical_.links.push_back(std::move(link));
  }

  // All ranks reach rank 0 and are reached by it, hence everyone reaches everyone.
  Status check_reach() const {
    Logical turned = logical_;
    for (Link& link : turned.links) std::swap(link.from, link.to);
    index_links(turned);
    const uint32_t to = unreached(logical_, 0, 0, logical_.num_ranks);
    const uint32_t from = to == kNone ? unreached(turned, 0, 0, logical_.num_ranks) : 0;
    if (to == kNone && from == kNone) return {};
    const uint32_t source = to == kNone ? from : 0;
    const uint32_t target = to == kNone ? 0 : to;
    const bool other_node = source / sketch_.ranks_per_node != target / sketch_.ranks_per_node;
    return invalid(fmt::format(
        "the sketch excludes every route from rank {} to rank {}: {}", source, target,
        other_node ? "its \"across\" must let some rank of each node send to each other node, "
                     "where the topology has a link"
                   : "no links of the topology connect them inside of their node; \"within\": "
                     "\"all\" also takes those that are slower than NVLink and xGMI"));
  }

  const topo::Topology& topology_;
  const Sketch& sketch_;
  Direction direction_;
  topo::Router router_;
  Logical logical_;
  std::map<uint32_t, uint32_t> ports_;  // by physical link
};

// Whether links a[i] and b[i] are alike for all i, and share ports alike.
uint32_t first_unlike(const Logical& a, const Logical& b, std::span<const uint32_t> image) {
  std::map<uint32_t, uint32_t> there;
  std::map<uint32_t, uint32_t> back;
  for (uint32_t l = 0; l < a.links.size(); ++l) {
    const Link& one = a.links[l];
    const Link& other = b.links[image[l]];
    if (one.latency_ns != other.latency_ns || one.ns_per_byte != other.ns_per_byte ||
        one.ports.size() != other.ports.size()) {
      return l;
    }
    for (size_t i = 0; i < one.ports.size(); ++i) {
      const uint32_t p = one.ports[i];
      const uint32_t q = other.ports[i];
      if (there.emplace(p, q).first->second != q || back.emplace(q, p).first->second != p ||
          a.port_ns_per_byte[p] != b.port_ns_per_byte[q]) {
        return l;
      }
    }
  }
  return kNone;
}

}  // namespace

uint32_t Logical::find(uint32_t from, uint32_t to) const {
  for (const uint32_t l : out[from]) {
    if (links[l].to == to) return l;
  }
  return kNone;
}

void index_links(Logical& logical) {
  logical.out.assign(logical.num_ranks, {});
  logical.in.assign(logical.num_ranks, {});
  for (uint32_t l = 0; l < logical.links.size(); ++l) {
    logical.out[logical.links[l].from].push_back(l);
    logical.in[logical.links[l].to].push_back(l);
  }
}

Result<Logical> logical_of(const topo::Topology& topology, const Sketch& sketch,
                           Direction direction) {
  TUTTI_TRY(topo::check(topology));
  TUTTI_TRY(check(sketch, topology.num_ranks()));
  return LogicalMaker(topology, sketch, direction).make();
}

Result<std::vector<uint32_t>> link_images(const Logical& logical, const Rotation& rotation) {
  std::vector<uint32_t> image;
  const auto refuse = [&](uint32_t l) {
    const Link& link = logical.links[l];
    return invalid(fmt::format(
        "symmetry [{}, {}] is not one of this machine and sketch: {} -> {} is not like {} -> {}",
        rotation.offset, rotation.group, link.from, link.to, rotated(link.from, rotation),
        rotated(link.to, rotation)));
  };
  for (uint32_t l = 0; l < logical.links.size(); ++l) {
    const Link& link = logical.links[l];
    image.push_back(logical.find(rotated(link.from, rotation), rotated(link.to, rotation)));
    if (image.back() == kNone) return refuse(l);
  }
  const uint32_t unlike = first_unlike(logical, logical, image);
  if (unlike != kNone) return refuse(unlike);
  return image;
}

bool is_same_shape(const Logical& a, const Logical& b) {
  if (a.num_ranks != b.num_ranks || a.links.size() != b.links.size()) return false;
  std::vector<uint32_t> image(a.links.size());
  for (uint32_t l = 0; l < a.links.size(); ++l) {
    image[l] = l;
    if (a.links[l].from != b.links[l].from || a.links[l].to != b.links[l].to) return false;
  }
  // Ports stand in the order of the way, which is the other one backwards.
  Logical turned = b;
  for (Link& link : turned.links) std::reverse(link.ports.begin(), link.ports.end());
  return first_unlike(a, b, image) == kNone || first_unlike(a, turned, image) == kNone;
}

}  // namespace tutti::plan::sketch
