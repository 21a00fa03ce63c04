#include "topo/file.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/json_document.h"
#include "base/try.h"
#include "topo/build.h"

namespace tutti::topo {
namespace {

constexpr std::string_view kFormat = "tutti-topology";
constexpr uint32_t kVersion = 1;

using NodesByName = std::unordered_map<std::string_view, NodeId>;

NodeId find_node(base::JsonValue name, const NodesByName& nodes) {
  const auto found = nodes.find(name.string());
  if (found != nodes.end()) return found->second;
  if (name.is_string()) name.fail(fmt::format("no node is named '{}'", name.string()));
  return {};
}

void read_node(base::JsonValue json, Topology& topology, NodesByName& nodes) {
  json.only_fields({"name", "kind", "machine", "reduce_gbps"});
  Node node;
  const auto name = json.field("name");
  node.name = name.string();
  if (name.is_string() && !is_valid_name(node.name)) {
    name.fail("a name is 1 to 64 visible ASCII characters, none of ~ = , \\ \"");
  }
  const auto kind = json.field("kind");
  const auto known = parse_node_kind(kind.string());
  if (kind.is_string() && !known) kind.fail("must be device, switch, nic or host");
  node.kind = known.value_or(NodeKind::kDevice);
  node.machine = json.optional("machine").uint32(0, kMaxNodes - 1);
  node.reduce_gbps = json.optional("reduce_gbps").number(0, kMaxFigure);
  const NodeId id(static_cast<uint32_t>(topology.nodes.size()));
  if (name.is_string() && !nodes.emplace(name.string(), id).second) {
    name.fail(fmt::format("a node named '{}' is there already", node.name));
  }
  topology.nodes.push_back(std::move(node));
}

void read_link(base::JsonValue json, Topology& topology, const NodesByName& nodes) {
  json.only_fields({"between", "from", "to", "class", "gbps", "latency_ns"});
  const auto between = json.optional("between");
  const auto from = between.exists() ? between.at(0) : json.field("from");
  const auto to = between.exists() ? between.at(1) : json.field("to");
  if (between.exists() && between.size() != 2) between.fail("must be two names of nodes");
  if (between.exists() && (json.optional("from").exists() || json.optional("to").exists())) {
    between.fail("stands for both directions: leave out from and to");
  }
  const auto kind = json.field("class");
  const auto known = parse_link_class(kind.string());
  if (kind.is_string() && !known) {
    kind.fail("must be nvlink, xgmi, pcie, socket, network, memory or other");
  }
  const auto gbps = json.field("gbps");
  const Wire wire = {known.value_or(LinkClass::kOther), gbps.number(0, kMaxFigure),
                     json.field("latency_ns").number(0, kMaxFigure)};
  if (gbps.exists() && wire.gbps == 0) gbps.fail("must be above 0");
  const NodeId a = find_node(from, nodes);
  const NodeId b = find_node(to, nodes);
  if (to.exists() && a == b) to.fail("a link joins two different nodes");
  if (between.exists()) {
    connect(topology, a, b, wire);
  } else {
    add_link(topology, a, b, wire);
  }
}

void read_topology(base::JsonValue root, Topology& topology) {
  root.only_fields({"format", "version", "name", "nodes", "links", "ranks"});
  const auto format = root.field("format");
  if (format.is_string() && format.string() != kFormat) {
    format.fail(fmt::format("must be '{}'", kFormat));
  }
  static_cast<void>(root.field("version").uint32(kVersion, kVersion));
  topology.name = root.field("name").string();

  const auto nodes = root.field("nodes");
  if (nodes.size() > kMaxNodes) return nodes.fail(fmt::format("at most {} nodes", kMaxNodes));
  NodesByName by_name;
  for (size_t i = 0; i < nodes.size(); ++i) read_node(nodes.at(i), topology, by_name);
  const auto links = root.field("links");
  if (links.size() > kMaxLinks / 2) return links.fail(fmt::format("at most {}", kMaxLinks / 2));
  for (size_t i = 0; i < links.size(); ++i) read_link(links.at(i), topology, by_name);

  const auto ranks = root.field("ranks");
  for (size_t i = 0; i < ranks.size(); ++i) {
    const NodeId device = find_node(ranks.at(i), by_name);
    topology.ranks.push_back(device);
    if (device.value < topology.nodes.size() &&
        topology.nodes[device.value].kind != NodeKind::kDevice) {
      ranks.at(i).fail(fmt::format("'{}' is a {}; ranks are on devices",
                                   topology.nodes[device.value].name,
                                   to_string(topology.nodes[device.value].kind)));
    }
  }
}

bool is_other_direction(const Link& a, const Link& b) {
  return a.from == b.to && a.to == b.from && a.link_class == b.link_class && a.gbps == b.gbps &&
         a.latency_ns == b.latency_ns;
}

// The lines of a JSON array: a comma after each but the last.
void append_line(std::string& text, std::string_view line) {
  text += text.empty() ? "    " : ",\n    ";
  text += line;
}

std::string node_lines(const Topology& topology) {
  std::string text;
  for (const Node& node : topology.nodes) {
    const auto reduce =
        node.reduce_gbps == 0 ? "" : fmt::format(R"(, "reduce_gbps": {})", node.reduce_gbps);
    append_line(text, fmt::format(R"({{"name": "{}", "kind": "{}", "machine": {}{}}})", node.name,
                                  to_string(node.kind), node.machine, reduce));
  }
  return text;
}

std::string link_lines(const Topology& topology) {
  std::string text;
  for (size_t i = 0; i < topology.links.size(); ++i) {
    const Link& link = topology.links[i];
    const bool is_pair =
        i + 1 < topology.links.size() && is_other_direction(link, topology.links[i + 1]);
    const std::string& from = topology.nodes[link.from.value].name;
    const std::string& to = topology.nodes[link.to.value].name;
    const auto ends = is_pair ? fmt::format(R"("between": ["{}", "{}"])", from, to)
                              : fmt::format(R"("from": "{}", "to": "{}")", from, to);
    append_line(text, fmt::format(R"({{{}, "class": "{}", "gbps": {}, "latency_ns": {}}})", ends,
                                  to_string(link.link_class), link.gbps, link.latency_ns));
    if (is_pair) ++i;
  }
  return text;
}

std::string rank_lines(const Topology& topology) {
  constexpr size_t kPerLine = 8;
  std::string text;
  for (size_t i = 0; i < topology.ranks.size(); ++i) {
    const std::string_view separator = i == 0 ? "    " : i % kPerLine == 0 ? ",\n    " : ", ";
    text += fmt::format(R"({}"{}")", separator, topology.nodes[topology.ranks[i].value].name);
  }
  return text;
}

}  // namespace

Result<Topology> from_json(std::string_view text, const std::string& source) {
  TUTTI_ASSIGN(const auto document, base::JsonDocument::parse(text, source));
  Topology topology;
  read_topology(document->root(), topology);
  TUTTI_TRY(document->status());
  if (Status status = check(topology); !status) {
    return Error{ErrorCode::kMalformed, fmt::format("{}: {}", source, status.error().message)};
  }
  return topology;
}

std::string to_json(const Topology& topology) {
  return fmt::format(
      "{{\n  \"format\": \"{}\",\n  \"version\": {},\n  \"name\": \"{}\",\n"
      "  \"nodes\": [\n{}\n  ],\n  \"links\": [\n{}\n  ],\n  \"ranks\": [\n{}\n  ]\n}}\n",
      kFormat, kVersion, topology.name, node_lines(topology), link_lines(topology),
      rank_lines(topology));
}

}  // namespace tutti::topo
