#include "topo/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>

#include "topo/rates.h"
#include "topo/router.h"

namespace tutti::topo {
namespace {

constexpr uint32_t kMaxMatrixRanks = 16;

std::string counted(size_t count, std::string_view noun) {
  const std::string_view plural = noun.ends_with("ch") ? "es" : "s";
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : plural);
}

std::string node_counts(const Topology& topology) {
  std::array<size_t, 4> counts{};
  for (const Node& node : topology.nodes) ++counts[static_cast<size_t>(node.kind)];
  std::string text;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    text += text.empty() ? "" : ", ";
    text += counted(counts[i], to_string(static_cast<NodeKind>(i)));
  }
  return text;
}

// Fastest first within a class.
std::string link_table(const Topology& topology) {
  std::map<std::tuple<LinkClass, double, double>, size_t> kinds;
  for (const Link& link : topology.links) {
    ++kinds[{link.link_class, -link.gbps, link.latency_ns}];
  }
  std::string text = fmt::format("{:<9}{:>9}{:>10}{:>10}\n", "links", "number", "GB/s", "ns");
  for (const auto& [kind, count] : kinds) {
    const auto [link_class, negative_gbps, latency_ns] = kind;
    text += fmt::format("{:<9}{:>9}{:>10.6g}{:>10.6g}\n", to_string(link_class), count,
                        -negative_gbps, latency_ns);
  }
  return text;
}

std::string bottleneck(Router& router, const Topology& topology, Rank from, Rank to) {
  if (topology.ranks[from.value] == topology.ranks[to.value]) return "-";
  const auto route = router.route(from, to);
  if (!route) return "none";
  double gbps = std::numeric_limits<double>::infinity();
  for (const LinkId link : *route) gbps = std::min(gbps, topology.links[link.value].gbps);
  return fmt::format("{:.4g}", gbps);
}

std::string matrix(const Topology& topology) {
  Router router(topology);
  const uint32_t num_ranks = topology.num_ranks();
  std::string text = fmt::format("{:<9}", "GB/s");
  for (uint32_t to = 0; to < num_ranks; ++to) text += fmt::format("{:>6}", to);
  text += "\n";
  for (uint32_t from = 0; from < num_ranks; ++from) {
    text += fmt::format("rank {:<4}", from);
    for (uint32_t to = 0; to < num_ranks; ++to) {
      text += fmt::format("{:>6}", bottleneck(router, topology, Rank(from), Rank(to)));
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string describe(const Topology& topology) {
  std::string text = fmt::format(
      "{}: {} on {}\n", topology.name.empty() ? "unnamed" : topology.name,
      counted(topology.num_ranks(), "rank"), counted(num_machines(topology), "machine"));
  text += fmt::format("{}\n\n", node_counts(topology));
  if (!topology.links.empty()) text += link_table(topology);
  const bool is_small = topology.num_ranks() > 1 && topology.num_ranks() <= kMaxMatrixRanks;
  if (is_small) text += "\n" + matrix(topology);
  return text;
}

}  // namespace tutti::topo
