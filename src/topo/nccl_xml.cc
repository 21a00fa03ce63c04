#include "topo/nccl_xml.h"

#include <fmt/format.h>
#include <tinyxml2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <unordered_map>

#include "base/try.h"
#include "topo/figures.h"
#include "topo/parse.h"

namespace tutti::topo {
namespace {

using tinyxml2::XMLElement;

constexpr size_t kMaxCpus = 256;  // every two of a machine are joined
constexpr uint32_t kMaxLinkCount = 1024;

struct GpuFigures {
  uint32_t min_sm;  // of this generation and, until the next one, later
  double nvlink_gbps;
  double memory_gbps;
};
constexpr std::array<GpuFigures, 7> kGpus = {{{0, kNvlink1Gbps, 0},
                                              {60, kNvlink1Gbps, 732},
                                              {70, kNvlink2Gbps, 900},
                                              {80, kNvlink3Gbps, 1555},
                                              {86, kNvlinkGa102Gbps, 696},
                                              {90, kNvlink4Gbps, 3350},
                                              {100, kNvlink5Gbps, 8000}}};

const GpuFigures& figures_of_sm(uint32_t sm) {
  size_t i = kGpus.size() - 1;
  while (kGpus[i].min_sm > sm) --i;
  return kGpus[i];
}

std::string_view text_of(const XMLElement& element, const char* attribute) {
  const char* const text = element.Attribute(attribute);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

struct Host {
  NodeId node;
  uint32_t machine;
  double socket_gbps;
};

struct Gpu {
  NodeId node;
  const XMLElement* element;  // null when only its PCI class says that it is one
  NodeId parent_host;
  uint32_t dev;
  std::optional<uint32_t> rank;
};

class Reader {
 public:
  Reader(const std::string& source, Topology& topology) : source_(source), topology_(topology) {}

  Status read(const XMLElement& system);

 private:
  Error error(const XMLElement& element, std::string_view attribute, std::string_view what) const;
  Result<uint32_t> number(const XMLElement& element, const char* attribute, uint32_t min,
                          uint32_t max) const;
  Result<NodeId> add(const XMLElement& element, NodeKind kind, std::string_view name);
  Result<Wire> pcie_wire(const XMLElement& pci) const;

  void find_machines(const XMLElement& system);
  Status read_cpu(const XMLElement& cpu);
  Status read_children(const XMLElement& parent, NodeId at);
  Status read_pci(const XMLElement& pci, NodeId at);
  Status read_nic(const XMLElement& nic, NodeId at, const Wire& slot);
  Status read_gpu(const XMLElement& pci, const XMLElement* gpu, NodeId at, const Wire& wire);
  Status read_gpu_links(const Gpu& gpu);
  Status read_gpu_link(const Gpu& gpu, const XMLElement& link, LinkClass link_class, double gbps);
  void connect_gpu_links();
  void connect_hosts();
  Status number_ranks();

  const std::string& source_;
  Topology& topology_;
  std::unordered_map<std::string, int> line_of_name_;
  std::vector<std::string> machines_;  // host_hash of each, in order of appearance
  uint32_t machine_ = 0;               // of the CPU being read
  std::vector<Host> hosts_;
  std::vector<Gpu> gpus_;
  std::unordered_map<std::string, NodeId> gpu_of_bus_;
  // What all links from one GPU to another, or from a GPU to NVSwitches, add up to.
  std::map<std::pair<NodeId, NodeId>, Wire> peers_;
  std::map<NodeId, double> crossbar_gbps_;
};

Error Reader::error(const XMLElement& element, std::string_view attribute,
                    std::string_view what) const {
  return {ErrorCode::kMalformed,
          fmt::format("{}:{}: <{}>{}{}: {}", source_, element.GetLineNum(), element.Name(),
                      attribute.empty() ? "" : " ", attribute, what)};
}

Result<uint32_t> Reader::number(const XMLElement& element, const char* attribute, uint32_t min,
                                uint32_t max) const {
  const auto value = parse_uint32(text_of(element, attribute));
  if (value && *value >= min && *value <= max) return *value;
  return error(element, attribute, fmt::format("must be a whole number from {} to {}", min, max));
}

Result<NodeId> Reader::add(const XMLElement& element, NodeKind kind, std::string_view name) {
  if (topology_.nodes.size() == kMaxNodes) {
    return error(element, "", fmt::format("more than {} nodes", kMaxNodes));
  }
  if (!is_valid_name(name)) {
    return error(element, "", fmt::format("'{}' cannot name a node", name.substr(0, 64)));
  }
  std::string full =
      machines_.size() > 1 ? fmt::format("node{}/{}", machine_, name) : std::string(name);
  const auto [first, is_new] = line_of_name_.emplace(full, element.GetLineNum());
  if (!is_new) {
    return error(element, "",
                 fmt::format("'{}' is there already, on line {}", full, first->second));
  }
  const NodeId node = add_node(topology_, kind, std::move(full));
  topology_.nodes[node.value].machine = machine_;
  return node;
}

// NCCL leaves speed and width empty, 0 or unknown in virtual machines, and then reckons with
// 8 GT/s and 16 lanes, as we do.
Result<Wire> Reader::pcie_wire(const XMLElement& pci) const {
  double speed = 8;
  const std::string_view text = text_of(pci, "link_speed");
  if (!text.empty() && !text.starts_with("Unknown")) {
    constexpr std::array<double, 6> kSpeeds = {2.5, 5, 8, 16, 32, 64};
    speed = parse_decimal(text.substr(0, text.find(' '))).value_or(0);
    if (std::find(kSpeeds.begin(), kSpeeds.end(), speed) == kSpeeds.end()) {
      return error(pci, "link_speed", "must be 2.5, 5, 8, 16, 32 or 64 GT/s");
    }
  }
  uint32_t lanes = 16;
  const std::string_view width = text_of(pci, "link_width");
  if (!width.empty() && width != "0" && width != "255") {
    TUTTI_ASSIGN(lanes, number(pci, "link_width", 1, 32));
  }
  return pcie(speed, lanes);
}

void Reader::find_machines(const XMLElement& system) {
  for (auto* cpu = system.FirstChildElement("cpu"); cpu; cpu = cpu->NextSiblingElement("cpu")) {
    const std::string hash(text_of(*cpu, "host_hash"));
    if (std::find(machines_.begin(), machines_.end(), hash) == machines_.end()) {
      machines_.push_back(hash);
    }
    if (machines_.size() > kMaxCpus) return;  // read() is about to refuse it
  }
}

// NCCL tells Intel's generations by the model number.
double socket_gbps(const XMLElement& cpu, uint32_t model) {
  if (text_of(cpu, "vendor") != "GenuineIntel") return kSocketAmdGbps;
  if (model >= 0xcf) return kSocketEmeraldGbps;
  if (model >= 0x8f) return kSocketSapphireGbps;
  return model >= 0x55 ? kSocketSkylakeGbps : kSocketBroadwellGbps;
}

Status Reader::read_cpu(const XMLElement& cpu) {
  if (hosts_.size() == kMaxCpus) return error(cpu, "", fmt::format("more than {}", kMaxCpus));
  const auto machine = std::find(machines_.begin(), machines_.end(), text_of(cpu, "host_hash"));
  machine_ = static_cast<uint32_t>(machine - machines_.begin());
  // -1 is what Linux says where it knows no NUMA node.
  const bool is_unknown = text_of(cpu, "numaid") == "-1";
  uint32_t numa = 0;
  if (!is_unknown) {
    TUTTI_ASSIGN(numa, number(cpu, "numaid", 0, 1 << 16));
  }
  uint32_t model = 0;
  if (cpu.Attribute("modelid") != nullptr) {
    TUTTI_ASSIGN(model, number(cpu, "modelid", 0, UINT32_MAX));
  }
  TUTTI_ASSIGN(const NodeId node,
               add(cpu, NodeKind::kHost, is_unknown ? "cpu" : fmt::format("cpu{}", numa)));
  hosts_.push_back({node, machine_, socket_gbps(cpu, model)});
  return read_children(cpu, node);
}

Status Reader::read_children(const XMLElement& parent, NodeId at) {
  for (auto* child = parent.FirstChildElement(); child; child = child->NextSiblingElement()) {
    const std::string_view name = child->Name();
    if (name == "pci") TUTTI_TRY(read_pci(*child, at));
    if (name == "nic") TUTTI_TRY(read_nic(*child, at, pcie(8)));
  }
  return {};
}

Status Reader::read_pci(const XMLElement& pci, NodeId at) {
  TUTTI_ASSIGN(const Wire wire, pcie_wire(pci));
  const std::string_view pci_class = text_of(pci, "class");
  const std::string_view bus = text_of(pci, "busid");
  const bool is_bus = !bus.empty() && bus.size() <= 20 &&
                      bus.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
  if (!is_bus) return error(pci, "busid", "must be like 0000:3b:00.0");

  const XMLElement* const gpu = pci.FirstChildElement("gpu");
  if (gpu != nullptr || pci_class.starts_with("0x03")) return read_gpu(pci, gpu, at, wire);
  if (const XMLElement* const nic = pci.FirstChildElement("nic")) return read_nic(*nic, at, wire);
  if (pci.FirstChildElement("pci") == nullptr) return {};  // nothing of ours is behind it
  TUTTI_ASSIGN(const NodeId bridge,
               add(pci, NodeKind::kSwitch, fmt::format("pci-{}", lower_case(bus))));
  connect(topology_, bridge, at, wire);
  return read_children(pci, bridge);
}

Status Reader::read_nic(const XMLElement& nic, NodeId at, const Wire& slot) {
  for (auto* net = nic.FirstChildElement("net"); net; net = net->NextSiblingElement("net")) {
    TUTTI_ASSIGN(const uint32_t dev, number(*net, "dev", 0, 1 << 20));
    uint32_t megabits = 10000;  // NCCL's assumption where the speed is unknown
    const std::string_view speed = text_of(*net, "speed");
    if (!speed.empty() && speed != "0" && speed != "-1") {
      TUTTI_ASSIGN(megabits, number(*net, "speed", 1, 100'000'000));
    }
    const std::string_view name = text_of(*net, "name");
    TUTTI_ASSIGN(
        const NodeId node,
        add(*net, NodeKind::kNic, name.empty() ? fmt::format("nic{}", dev) : std::string(name)));
    Wire wire = slot;
    wire.gbps = std::min(wire.gbps, megabits / 8000.0);
    connect(topology_, node, at, wire);
  }
  return {};
}

Status Reader::read_gpu(const XMLElement& pci, const XMLElement* gpu, NodeId at, const Wire& wire) {
  uint32_t dev = static_cast<uint32_t>(gpus_.size());
  std::optional<uint32_t> rank;
  uint32_t sm = 0;
  if (gpu != nullptr) {
    TUTTI_ASSIGN(dev, number(*gpu, "dev", 0, 1 << 20));
    if (gpu->Attribute("sm") != nullptr) {
      TUTTI_ASSIGN(sm, number(*gpu, "sm", 0, 10'000));
    }
    const std::string_view text = text_of(*gpu, "rank");
    if (!text.empty() && text != "-1") {
      TUTTI_ASSIGN(rank, number(*gpu, "rank", 0, 1u << 31));
    }
  }
  TUTTI_ASSIGN(const NodeId node,
               add(gpu != nullptr ? *gpu : pci, NodeKind::kDevice, fmt::format("gpu{}", dev)));
  topology_.nodes[node.value].reduce_gbps = reduce_gbps(figures_of_sm(sm).memory_gbps);
  connect(topology_, node, at, wire);
  gpus_.push_back({node, gpu, hosts_.back().node, dev, rank});
  gpu_of_bus_.emplace(lower_case(text_of(pci, "busid")), node);
  return {};
}

Status Reader::read_gpu_links(const Gpu& gpu) {
  if (gpu.element == nullptr) return {};
  uint32_t sm = kGpus[3].min_sm;  // where the file does not say
  if (gpu.element->Attribute("sm") != nullptr) {
    TUTTI_ASSIGN(sm, number(*gpu.element, "sm", 0, 10'000));
  }
  const std::string_view gcn = text_of(*gpu.element, "gcn");
  const bool is_mi300 = gcn.starts_with("gfx94") || gcn.starts_with("94");
  for (auto* link = gpu.element->FirstChildElement(); link; link = link->NextSiblingElement()) {
    const std::string_view name = link->Name();
    if (name == "nvlink") {
      TUTTI_TRY(read_gpu_link(gpu, *link, LinkClass::kNvlink, figures_of_sm(sm).nvlink_gbps));
    } else if (name == "xgmi") {
      TUTTI_TRY(
          read_gpu_link(gpu, *link, LinkClass::kXgmi, is_mi300 ? kXgmiMi300Gbps : kXgmiMi250Gbps));
    } else if (name == "c2c") {
      TUTTI_ASSIGN(const uint32_t megabytes, number(*link, "bw", 1, 1'000'000'000));
      TUTTI_ASSIGN(const uint32_t count, number(*link, "count", 1, kMaxLinkCount));
      connect(topology_, gpu.node, gpu.parent_host,
              {LinkClass::kNvlink, megabytes * 1.0 * count / 1000, kC2cNs});
    }
  }
  return {};
}

// Each end of a link between GPUs lists it, so each listing is one direction. A peer that the file
// does not have took no part in the job that wrote it, and neither do links to it.
Status Reader::read_gpu_link(const Gpu& gpu, const XMLElement& link, LinkClass link_class,
                             double gbps) {
  TUTTI_ASSIGN(const uint32_t count, number(link, "count", 1, kMaxLinkCount));
  const std::string_view target_class = text_of(link, "tclass");
  const double sum = count * gbps;
  if (target_class == "0x068001") {  // a POWER CPU
    connect(topology_, gpu.node, gpu.parent_host, {link_class, sum, kC2cNs});
  } else if (target_class.starts_with("0x0680")) {
    crossbar_gbps_[gpu.node] += sum;
  } else if (target_class.starts_with("0x03")) {
    const auto peer = gpu_of_bus_.find(lower_case(text_of(link, "target")));
    if (peer == gpu_of_bus_.end()) return {};
    if (peer->second == gpu.node) return error(link, "target", "is the GPU itself");
    Wire& wire = peers_[{gpu.node, peer->second}];
    wire = {link_class, wire.gbps + sum, link_class == LinkClass::kXgmi ? kXgmiNs : kNvlinkNs};
  } else {
    return error(link, "tclass", "must be 0x03.... (GPU), 0x068000 (switch) or 0x068001 (CPU)");
  }
  return {};
}

void Reader::connect_gpu_links() {
  for (const auto& [ends, wire] : peers_) add_link(topology_, ends.first, ends.second, wire);
  if (crossbar_gbps_.empty()) return;
  const NodeId crossbar = add_node(topology_, NodeKind::kSwitch, "nvswitch");
  for (const auto& [gpu, gbps] : crossbar_gbps_) {
    connect(topology_, gpu, crossbar, {LinkClass::kNvlink, gbps, kNvswitchNs});
  }
}

void Reader::connect_hosts() {
  for (size_t a = 0; a < hosts_.size(); ++a) {
    for (size_t b = a + 1; b < hosts_.size(); ++b) {
      if (hosts_[a].machine != hosts_[b].machine) continue;
      connect(topology_, hosts_[a].node, hosts_[b].node,
              socket(std::min(hosts_[a].socket_gbps, hosts_[b].socket_gbps)));
    }
  }
}

// By the ranks of the job that wrote the file, if it gives any; else all GPUs by their number.
Status Reader::number_ranks() {
  const bool has_ranks =
      std::any_of(gpus_.begin(), gpus_.end(), [](const Gpu& gpu) { return gpu.rank.has_value(); });
  std::map<std::pair<uint32_t, uint32_t>, const Gpu*> order;
  for (const Gpu& gpu : gpus_) {
    if (has_ranks && !gpu.rank) continue;
    const uint32_t machine = topology_.nodes[gpu.node.value].machine;
    const auto key = has_ranks ? std::pair(*gpu.rank, 0u) : std::pair(machine, gpu.dev);
    const auto [first, is_new] = order.emplace(key, &gpu);
    if (is_new) continue;
    return error(*gpu.element, "rank",
                 fmt::format("{} is given twice, first on line {}", *gpu.rank,
                             first->second->element->GetLineNum()));
  }
  for (const auto& [key, gpu] : order) topology_.ranks.push_back(gpu->node);
  return {};
}

Status Reader::read(const XMLElement& system) {
  find_machines(system);
  for (auto* cpu = system.FirstChildElement("cpu"); cpu; cpu = cpu->NextSiblingElement("cpu")) {
    TUTTI_TRY(read_cpu(*cpu));
  }
  if (gpus_.empty()) return error(system, "", "has no <gpu> in any <cpu>");
  for (const Gpu& gpu : gpus_) TUTTI_TRY(read_gpu_links(gpu));
  connect_gpu_links();
  connect_hosts();
  return number_ranks();
}

}  // namespace

Result<Topology> from_nccl_xml(std::string_view text, const std::string& source) {
  tinyxml2::XMLDocument document;
  if (document.Parse(text.data(), text.size()) != tinyxml2::XML_SUCCESS) {
    return Error{ErrorCode::kMalformed, fmt::format("{}:{}: not XML ({})", source,
                                                    document.ErrorLineNum(), document.ErrorName())};
  }
  const XMLElement* const root = document.RootElement();
  if (root == nullptr || std::string_view(root->Name()) != "system") {
    return Error{ErrorCode::kMalformed,
                 fmt::format("{}:{}: not a topology of NCCL: its first element is not <system>",
                             source, root == nullptr ? 1 : root->GetLineNum())};
  }
  Topology topology;
  Reader reader(source, topology);
  TUTTI_TRY(reader.read(*root));
  if (Status status = check(topology); !status) {
    return Error{ErrorCode::kMalformed, fmt::format("{}: {}", source, status.error().message)};
  }
  return topology;
}

}  // namespace tutti::topo
