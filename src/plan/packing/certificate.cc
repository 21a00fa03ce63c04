#include "plan/packing/certificate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::plan::packing {
namespace {

using Nodes = std::vector<uint32_t>;

class Words {
 public:
  Words(const Collective& collective, const topo::Topology& topology, const Packing& packing)
      : collective_(collective), topology_(topology), packing_(packing) {}

  [[nodiscard]] std::string cut() const {
    const Nodes& inside = packing_.bound.groups.front();
    const Nodes ranks = ranks_of(inside);
    const Nodes others = ranks_of(complement(inside));
    // The smaller side is the one to look at.
    const bool shows_inside = ranks.size() <= others.size();
    const std::string side = names(shows_inside ? ranks : others);
    const bool leaves = shows_inside != packing_.bound.is_entering;
    return fmt::format("{} must {} {}, and the links there carry {} together{}",
                       what_crosses(ranks.size()), leaves ? "leave" : "enter", side,
                       rate(packing_.bound.crossing), links_of(inside));
  }

  [[nodiscard]] std::string arrivals() const {
    Nodes ranks;
    for (const Nodes& group : packing_.bound.groups) ranks.push_back(group.front());
    const bool are_all = ranks.size() == collective_.num_ranks;
    return fmt::format(
        "{} must {} each of {}, in messages of its own, and all {} these carry {} "
        "together",
        what_crosses(collective_.num_ranks - 1), packing_.bound.is_entering ? "enter" : "leave",
        are_all ? fmt::format("the {} ranks", ranks.size()) : names(ranks),
        packing_.bound.is_entering ? "into" : "out of", rate(packing_.bound.crossing));
  }

  [[nodiscard]] std::string partition() const {
    const size_t k = packing_.bound.groups.size();
    std::string groups = fmt::format("the {} groups", k);
    for (const Nodes& group : packing_.bound.groups) groups += " " + names(group);
    if (k == packing_.fabric.graph.num_ranks) groups = fmt::format("the {} ranks", k);
    return fmt::format(
        "between {} every byte must cross {} times ({} to bring the contributions "
        "together, {} to spread the result), and what {} them adds up to {}",
        groups, 2 * (k - 1), k - 1, k - 1, packing_.bound.is_entering ? "can enter" : "can leave",
        rate(packing_.bound.crossing));
  }

 private:
  [[nodiscard]] std::string what_crosses(size_t num_inside) const {
    const uint32_t p = collective_.num_ranks;
    switch (collective_.kind) {
      case CollectiveKind::kBroadcast: return "the whole message";
      case CollectiveKind::kReduce: return "a sum as long as the message";
      case CollectiveKind::kAllGather: return fmt::format("{} of {} blocks", num_inside, p);
      case CollectiveKind::kReduceScatter:
        return fmt::format("the sums of {} of {} blocks", num_inside, p);
      case CollectiveKind::kAllReduce: return "something of every byte";
      case CollectiveKind::kAllToAll:
      case CollectiveKind::kGather:
      case CollectiveKind::kScatter:
      case CollectiveKind::kBarrier:
      case CollectiveKind::kSendRecv: break;
    }
    return "";
  }

  [[nodiscard]] Nodes complement(const Nodes& inside) const {
    Nodes nodes;
    for (uint32_t n = 0; n < packing_.fabric.graph.num_nodes(); ++n) {
      if (std::find(inside.begin(), inside.end(), n) == inside.end()) nodes.push_back(n);
    }
    return nodes;
  }

  [[nodiscard]] Nodes ranks_of(Nodes nodes) const {
    std::erase_if(nodes, [&](uint32_t n) { return n >= packing_.fabric.graph.num_ranks; });
    return nodes;
  }

  [[nodiscard]] const std::string& name(uint32_t node) const {
    return topology_.nodes[packing_.fabric.graph.nodes[node].value].name;
  }

  [[nodiscard]] std::string names(const Nodes& ranks) const {
    constexpr size_t kEnough = 8;
    if (ranks.size() == 1) return name(ranks.front());
    std::string text;
    for (size_t i = 0; i < std::min(ranks.size(), kEnough); ++i) {
      text += (i == 0 ? "" : ",") + name(ranks[i]);
    }
    if (ranks.size() > kEnough) text += fmt::format(",... {} in all", ranks.size());
    return "{" + text + "}";
  }

  [[nodiscard]] std::string rate(int64_t units) const {
    return fmt::format("{:.4g} GB/s", static_cast<double>(units) * packing_.fabric.graph.unit_gbps);
  }

  // " (gpu0->gpu1 25, gpu0->gpu2 25)", if they are few.
  [[nodiscard]] std::string links_of(const Nodes& inside) const {
    constexpr size_t kEnough = 6;
    const Graph& graph = packing_.fabric.graph;
    std::string text;
    size_t count = 0;
    for (const uint32_t a : inside) {
      for (const uint32_t b : complement(inside)) {
        const auto [from, to] = packing_.bound.is_entering ? std::pair(b, a) : std::pair(a, b);
        const int64_t units = graph.capacity[from][to];
        if (units == 0) continue;
        text += fmt::format("{}{}->{} {:.4g}", text.empty() ? "" : ", ", name(from), name(to),
                            static_cast<double>(units) * graph.unit_gbps);
        ++count;
      }
    }
    return count <= kEnough ? fmt::format(" ({})", text) : "";
  }

  const Collective& collective_;
  const topo::Topology& topology_;
  const Packing& packing_;
};

// "pcie, socket": the classes of links that no tree may use. Links of devices without a rank could
// help nobody.
std::string left_out(const topo::Topology& topology, const Fabric& fabric) {
  std::set<std::string_view> classes;
  const auto& nodes = fabric.whole.nodes;
  const auto is_part = [&](topo::NodeId node) {
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
  };
  for (size_t l = 0; l < topology.links.size(); ++l) {
    const topo::Link& link = topology.links[l];
    if (fabric.is_used[l] || !is_part(link.from) || !is_part(link.to)) continue;
    classes.insert(topo::to_string(link.link_class));
  }
  return fmt::format("{}", fmt::join(classes, ", "));
}

}  // namespace

std::string certificate(const Collective& collective, const topo::Topology& topology,
                        const Packing& packing) {
  if (packing.bound.groups.empty()) return "";
  const Words words(collective, topology, packing);
  std::string text = fmt::format("at most {:.4g} GB/s: {}", packing.bound_gbps,
                                 packing.bound.is_by_arrivals       ? words.arrivals()
                                 : packing.bound.groups.size() == 1 ? words.cut()
                                                                    : words.partition());
  if (packing.whole_gbps > packing.bound_gbps * (1 + kRounding)) {
    const std::string classes = left_out(topology, packing.fabric);
    text +=
        fmt::format("; {} at most {:.4g} GB/s",
                    classes.empty() ? "on ways that no message takes"
                                    : fmt::format("with the links that are left out ({})", classes),
                    packing.whole_gbps);
  }
  if (packing.relay_gbps > packing.bound_gbps * (1 + kRounding)) {
    text += fmt::format(
        "; if devices that hold no rank relayed at most {:.4g} GB/s (--relays names "
        "them)",
        packing.relay_gbps);
  }
  return text;
}

std::string summary(const Packing& packing) {
  if (packing.trees.empty()) return "one rank: nothing to move";
  const double ratio = packing.routed_gbps / packing.bound_gbps;
  const std::string verdict = ratio > 1 - kRounding
                                  ? "as fast as any schedule on these links can be"
                                  : fmt::format("{:.1f} % of what the bound allows", 100 * ratio);
  if (const size_t count = packing.rings.size(); count > 0) {
    return fmt::format("{} ring{} {} {:.4g} GB/s, {}", count, count == 1 ? "" : "s",
                       count == 1 ? "carries" : "carry", packing.routed_gbps, verdict);
  }
  const bool one = packing.trees.size() == 1;
  return fmt::format("{} tree{} of depth {} {} {:.4g} GB/s, {}", packing.trees.size(),
                     one ? "" : "s", packing.depth, one ? "carries" : "carry", packing.routed_gbps,
                     verdict);
}

}  // namespace tutti::plan::packing
