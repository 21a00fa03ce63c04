#include "plan/synth/sketch/taccl_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/invalid.h"
#include "base/json_document.h"
#include "base/try.h"
#include "topo/build.h"

namespace tutti::plan::sketch {
namespace {

constexpr uint32_t kMostGpus = 1024;
constexpr uint32_t kMostNodes = 1024;
constexpr double kMostUs = 1e9;
constexpr uint32_t kNdv2Gpus = 8;

// NVLinks between the GPUs of an NDv2, in the numbering of TACCL and msccl-tools.
constexpr uint32_t kNdv2[kNdv2Gpus][kNdv2Gpus] = {
    {0, 2, 1, 1, 2, 0, 0, 0}, {2, 0, 1, 2, 0, 1, 0, 0}, {1, 1, 0, 2, 0, 0, 2, 0},
    {1, 2, 2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2, 1, 1}, {0, 1, 0, 0, 2, 0, 1, 2},
    {0, 0, 2, 0, 1, 1, 0, 2}, {0, 0, 0, 1, 1, 2, 2, 0}};

// Where the value is missing that has been complained about already.
void complain(base::JsonValue json, std::string_view what) {
  if (json.exists()) json.fail(what);
}

bool mentions(std::string_view text, std::string_view field) {
  return text.find(fmt::format("\"{}\"", field)) != std::string_view::npos;
}

// "NDv2_32KB": 32,000. Without a size, 1 MB.
double chunk_bytes_of(std::string_view name) {
  const size_t mark = name.rfind('_');
  double unit = 0;
  if (name.ends_with("KB")) unit = 1e3;
  if (name.ends_with("MB")) unit = 1e6;
  if (name.ends_with("GB")) unit = 1e9;
  if (mark == std::string_view::npos || unit == 0) return 1e6;
  const std::string_view digits = name.substr(mark + 1, name.size() - mark - 3);
  uint32_t count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error != std::errc() || end != digits.data() + digits.size() || count == 0) return 1e6;
  return count * unit;
}

// A topology as its file has it.
struct Figures {
  std::string name;
  uint32_t gpus = 0;
  uint32_t nics = 1;
  double chunk_bytes = 1e6;
  double alpha_us = 0;
  double remote_alpha_us = 0;
  double remote_beta_us = 0;
  std::vector<double> betas_us;                // by kind of link
  std::vector<std::vector<double>> custom_us;  // [from][to]; 0: none. Empty: a known wiring
};

double positive(base::JsonValue json) {
  const double value = json.number(0, kMostUs);
  if (json.exists() && value == 0) json.fail("must be above 0");
  return value;
}

// TACCL's matrices are [to][from].
void read_matrices(base::JsonValue root, Figures& figures) {
  const auto links = root.field("links");
  const auto betas = root.field("betas");
  if (links.size() != figures.gpus) complain(links, "must have a row for each GPU of a node");
  if (betas.size() != figures.gpus) complain(betas, "must have a row for each GPU of a node");
  figures.custom_us.assign(figures.gpus, std::vector<double>(figures.gpus, 0));
  for (uint32_t to = 0; to < links.size() && to < figures.gpus; ++to) {
    const auto row = links.at(to);
    if (row.size() != figures.gpus) complain(row, "must have a number for each GPU of a node");
    if (betas.at(to).size() != figures.gpus) {
      complain(betas.at(to), "must have a number for each GPU of a node");
    }
    for (uint32_t from = 0; from < row.size() && from < figures.gpus; ++from) {
      if (row.at(from).number(0, kMostUs) == 0) continue;
      if (from == to) complain(row.at(from), "a GPU has no link to itself");
      figures.custom_us[from][to] = positive(betas.at(to).at(from));
    }
  }
}

Result<Figures> read_figures(std::string_view text, const std::string& source) {
  TUTTI_ASSIGN(const auto document, base::JsonDocument::parse(text, source));
  const auto root = document->root();
  root.only_fields({"name", "gpus_per_node", "nics_per_node", "alpha", "node_betas_list",
                    "node_invbws_list", "remote_alpha", "remote_beta", "remote_invbw", "links",
                    "betas", "invbws"});
  Figures figures;
  figures.name = root.field("name").string();
  figures.chunk_bytes = chunk_bytes_of(figures.name);
  figures.gpus = root.field("gpus_per_node").uint32(1, kMostGpus);
  if (root.optional("nics_per_node").exists()) {
    figures.nics = root.optional("nics_per_node").uint32(1, kMostGpus);
  }
  figures.alpha_us = root.field("alpha").number(0, kMostUs);
  figures.remote_alpha_us = root.optional("remote_alpha").number(0, kMostUs);
  if (root.optional("remote_beta").exists()) {
    figures.remote_beta_us = positive(root.optional("remote_beta"));
  }
  if (root.optional("links").exists()) {
    read_matrices(root, figures);
  } else {
    const auto betas = root.field("node_betas_list");
    for (size_t i = 0; i < betas.size(); ++i) figures.betas_us.push_back(positive(betas.at(i)));
    if (betas.exists() && (figures.betas_us.empty() || figures.betas_us.size() > 2)) {
      complain(betas, "one beta means GPUs on a switch, two an NDv2; other wirings need \"links\"");
    } else if (figures.betas_us.size() == 2 && figures.gpus != kNdv2Gpus) {
      complain(betas, "two betas mean an NDv2, which has 8 GPUs; other wirings need \"links\"");
    }
  }
  if (figures.nics > figures.gpus) complain(root.field("nics_per_node"), "more NICs than GPUs");
  TUTTI_TRY(document->status());
  return figures;
}

class MachineMaker {
 public:
  MachineMaker(const Figures& figures, uint32_t nodes) : figures_(figures), nodes_(nodes) {}

  topo::Topology make() {
    topology_.name = figures_.name;
    if (nodes_ > 1) topology_.name += fmt::format("*{}", nodes_);
    if (nodes_ > 1) {
      fabric_ = topo::add_node(topology_, topo::NodeKind::kSwitch, "fabric");
      topology_.nodes.back().machine = nodes_;
    }
    for (uint32_t node = 0; node < nodes_; ++node) add_machine(node);
    return std::move(topology_);
  }

 private:
  [[nodiscard]] topo::Wire wire(topo::LinkClass kind, double beta_us, double alpha_us) const {
    return {kind, figures_.chunk_bytes / (beta_us * 1e3), alpha_us * 1e3};
  }
  topo::NodeId add(uint32_t node, topo::NodeKind kind, const std::string& name) {
    const std::string prefix = nodes_ > 1 ? fmt::format("node{}/", node) : "";
    const topo::NodeId id = topo::add_node(topology_, kind, prefix + name);
    topology_.nodes.back().machine = node;
    return id;
  }

  void add_machine(uint32_t node) {
    std::vector<topo::NodeId> gpus;
    for (uint32_t g = 0; g < figures_.gpus; ++g) {
      gpus.push_back(add(node, topo::NodeKind::kDevice, fmt::format("gpu{}", g)));
      topology_.ranks.push_back(gpus.back());
    }
    if (!figures_.custom_us.empty() || figures_.betas_us.size() == 2) {
      add_direct(gpus);
    } else if (figures_.gpus > 1) {
      const topo::NodeId hub = add(node, topo::NodeKind::kSwitch, "switch");
      for (const topo::NodeId gpu : gpus) {
        topo::connect(topology_, gpu, hub,
                      wire(topo::LinkClass::kNvlink, figures_.betas_us[0], figures_.alpha_us / 2));
      }
    }
    if (nodes_ > 1) add_nics(node, gpus);
  }

  void add_direct(const std::vector<topo::NodeId>& gpus) {
    for (uint32_t from = 0; from < gpus.size(); ++from) {
      for (uint32_t to = 0; to < gpus.size(); ++to) {
        double beta_us = 0;
        if (!figures_.custom_us.empty()) {
          beta_us = figures_.custom_us[from][to];
        } else if (kNdv2[from][to] > 0) {
          beta_us = figures_.betas_us[kNdv2[from][to] == 2 ? 0 : 1];
        }
        if (beta_us == 0) continue;
        topo::add_link(topology_, gpus[from], gpus[to],
                       wire(topo::LinkClass::kNvlink, beta_us, figures_.alpha_us));
      }
    }
  }

  void add_nics(uint32_t node, const std::vector<topo::NodeId>& gpus) {
    std::vector<topo::NodeId> nics;
    for (uint32_t i = 0; i < figures_.nics; ++i) {
      nics.push_back(add(node, topo::NodeKind::kNic, fmt::format("nic{}", i)));
      topo::connect(
          topology_, nics.back(), fabric_,
          wire(topo::LinkClass::kNetwork, figures_.remote_beta_us, figures_.remote_alpha_us / 2));
    }
    for (uint32_t g = 0; g < gpus.size(); ++g) {
      topo::connect(topology_, gpus[g], nics[g * figures_.nics / figures_.gpus],
                    wire(topo::LinkClass::kPcie, figures_.remote_beta_us, 0));
    }
  }

  const Figures& figures_;
  uint32_t nodes_;
  topo::Topology topology_;
  topo::NodeId fabric_;
};

std::vector<uint32_t> read_gpus(base::JsonValue json, uint32_t limit) {
  std::vector<uint32_t> gpus;
  for (size_t i = 0; i < json.size(); ++i) gpus.push_back(json.at(i).uint32(0, limit - 1));
  return gpus;
}

uint32_t gpu_key(std::string_view key, base::JsonValue value, uint32_t limit) {
  uint32_t gpu = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), gpu);
  if (error != std::errc() || end != key.data() + key.size() || gpu >= limit) {
    value.fail(fmt::format("'{}' is not one of {} GPUs of a node", key, limit));
  }
  return gpu;
}

void read_intranode(base::JsonValue json, uint32_t gpus, Sketch& sketch) {
  json.only_fields({"strategy", "switches", "switch_hyperedge_strategy"});
  const auto strategy = json.field("strategy");
  const std::string_view text = strategy.is_string() ? strategy.string() : "";
  if (text == "minmax" || text == "maxmin") {
    complain(strategy,
             "the fullest and the emptiest link are not weighed here; say none or switch");
  } else if (text != "switch" && text != "none") {
    complain(strategy, "must be switch or none");
  }
  if (text != "switch") return;
  const auto switches = json.field("switches");
  const auto policies = json.optional("switch_hyperedge_strategy");
  for (size_t i = 0; i < switches.size(); ++i) {
    HyperEdge edge = {.ranks = read_gpus(switches.at(i), gpus)};
    if (policies.exists() && i < policies.size()) {
      const auto policy = policies.at(i).string();
      if (policy == "uc-min") edge.policy = Policy::kFewest;
      if (policy == "uc-max") edge.policy = Policy::kMost;
    }
    sketch.switches.push_back(std::move(edge));
  }
}

void read_internode(base::JsonValue json, uint32_t gpus, Sketch& sketch) {
  json.only_fields({"strategy", "internode_conn", "gpus_to_sender_rev_map", "enforce_ordering"});
  const auto strategy = json.field("strategy");
  if (strategy.is_string() && strategy.string() != "relay") complain(strategy, "must be relay");
  const auto conn = json.field("internode_conn");
  if (conn.is_object()) {
    sketch.across = Across::kListed;
    for (const auto& [key, value] : conn.fields()) {
      sketch.senders.push_back({gpu_key(key, value, gpus), read_gpus(value, gpus)});
    }
  } else if (conn.is_string() && conn.string() == "direct-map") {
    sketch.across = Across::kSame;
  } else if (!conn.is_string() || conn.string() != "fully-connected") {
    complain(conn, "must be fully-connected, direct-map or a list of receivers for each sender");
  }
  if (const auto map = json.optional("gpus_to_sender_rev_map"); map.exists()) {
    for (const auto& [key, value] : map.fields()) {
      sketch.relays.push_back({gpu_key(key, value, gpus), read_gpus(value, gpus)});
    }
  }
  sketch.own_first = json.optional("enforce_ordering").boolean();
}

}  // namespace

bool is_taccl_topology(std::string_view text) { return mentions(text, "gpus_per_node"); }

bool is_taccl_sketch(std::string_view text) { return mentions(text, "intranode_sketch"); }

Result<TacclSketch> taccl_sketch(std::string_view text, const std::string& source,
                                 uint32_t ranks_per_node) {
  TUTTI_ASSIGN(const auto document, base::JsonDocument::parse(text, source));
  const auto root = document->root();
  root.only_fields(
      {"nnodes", "intranode_sketch", "internode_sketch", "symmetry_offsets", "hyperparameters"});
  TacclSketch result;
  result.sketch.name = "taccl";
  result.sketch.ranks_per_node = ranks_per_node;
  result.nodes = root.field("nnodes").uint32(1, kMostNodes);
  read_intranode(root.field("intranode_sketch"), ranks_per_node, result.sketch);
  if (result.nodes > 1) {
    read_internode(root.field("internode_sketch"), ranks_per_node, result.sketch);
  }
  if (const auto symmetry = root.optional("symmetry_offsets"); symmetry.exists()) {
    for (size_t i = 0; i < symmetry.size(); ++i) {
      const auto pair = symmetry.at(i);
      if (pair.size() != 2) complain(pair, "must be [offset, group]");
      result.sketch.symmetry.push_back({pair.at(0).uint32(0, kMostGpus * kMostNodes),
                                        pair.at(1).uint32(1, kMostGpus * kMostNodes)});
    }
  }
  const auto parameters = root.field("hyperparameters");
  parameters.only_fields({"input_chunkup"});
  result.sketch.chunks = parameters.field("input_chunkup").uint32(1, 1024);
  TUTTI_TRY(document->status());
  return result;
}

Result<topo::Topology> taccl_topology(std::string_view text, const std::string& source,
                                      uint32_t nodes) {
  TUTTI_ASSIGN(const Figures figures, read_figures(text, source));
  if (nodes > 1 && figures.remote_beta_us == 0) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("{}: {} nodes need remote_alpha and remote_beta", source, nodes)};
  }
  topo::Topology topology = MachineMaker(figures, nodes).make();
  TUTTI_TRY(topo::check(topology));
  return topology;
}

Result<uint32_t> taccl_ranks_per_node(std::string_view text, const std::string& source) {
  TUTTI_ASSIGN(const Figures figures, read_figures(text, source));
  return figures.gpus;
}

}  // namespace tutti::plan::sketch
