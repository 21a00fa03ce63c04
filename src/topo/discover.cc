#include "topo/discover.h"

#ifndef TUTTI_HAVE_HWLOC

namespace tutti::topo {

Result<Topology> discover() {
  return Error{ErrorCode::kUnsupported,
               "this build cannot discover the host: it was made without hwloc. Install hwloc's "
               "development files (libhwloc-dev) and build again, or give a file or a machine"};
}

}  // namespace tutti::topo

#else

#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/try.h"
#include "topo/figures.h"

namespace tutti::topo {
namespace {

// Nominal figures; `tutti topo probe` measures.
constexpr double kCoreReduceGbps = 4;  // of a core's share of memory, in cache or out of it
constexpr Wire kCoreToMemory = {LinkClass::kMemory, 10, 50};
constexpr Wire kNumaToNuma = {LinkClass::kSocket, 20, 100};

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Hwloc = std::unique_ptr<hwloc_topology, DestroyTopology>;

Error cannot_look() {
  return {ErrorCode::kIo, fmt::format("hwloc cannot look at this host: {}", std::strerror(errno))};
}

Result<Hwloc> load() {
  errno = 0;
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return cannot_look();
  Hwloc hwloc(raw);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_load(raw) != 0) return cannot_look();
  return hwloc;
}

class Builder {
 public:
  explicit Builder(hwloc_topology_t hwloc) : hwloc_(hwloc) {}

  Topology build() {
    add_memory();
    add_cores();
    add_os_devices(HWLOC_OBJ_OSDEV_GPU, NodeKind::kDevice);
    add_os_devices(HWLOC_OBJ_OSDEV_COPROC, NodeKind::kDevice);
    add_os_devices(HWLOC_OBJ_OSDEV_NETWORK, NodeKind::kNic);
    topology_.name = "host (unmeasured)";
    return std::move(topology_);
  }

 private:
  void add_memory() {
    for (hwloc_obj_t numa = nullptr; (numa = next(HWLOC_OBJ_NUMANODE, numa)) != nullptr;) {
      const NodeId node =
          add_node(topology_, NodeKind::kSwitch, fmt::format("numa{}", numa->logical_index));
      for (const NodeId other : memory_) connect(topology_, other, node, kNumaToNuma);
      memory_.push_back(node);
    }
    if (memory_.empty()) memory_.push_back(add_node(topology_, NodeKind::kSwitch, "numa0"));
  }

  void add_cores() {
    // Some virtual machines report processing units without cores.
    const bool has_cores = hwloc_get_nbobjs_by_type(hwloc_, HWLOC_OBJ_CORE) > 0;
    const hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    for (hwloc_obj_t core = nullptr; (core = next(type, core)) != nullptr;) {
      const NodeId node =
          add_rank(topology_, fmt::format("core{}", core->logical_index), kCoreReduceGbps);
      connect(topology_, node, memory_near(core), kCoreToMemory);
    }
  }

  // One node a PCI device: a GPU that several libraries see is one GPU.
  void add_os_devices(hwloc_obj_osdev_type_t type, NodeKind kind) {
    for (hwloc_obj_t device = nullptr; (device = next(HWLOC_OBJ_OS_DEVICE, device)) != nullptr;) {
      if (device->attr->osdev.type != type) continue;
      const hwloc_obj_t pci = device->parent;
      const bool is_pci = pci != nullptr && pci->type == HWLOC_OBJ_PCI_DEVICE;
      if (!is_pci) continue;  // loopback and the like
      const bool is_known = std::find(pci_.begin(), pci_.end(), pci) != pci_.end();
      if (is_known || topology_.nodes.size() == kMaxNodes) continue;
      pci_.push_back(pci);
      const NodeId node = add_node(topology_, kind, unique_name(device->name, kind));
      const double slot_gbps = pci->attr->pcidev.linkspeed;  // GB/s; 0 when unknown
      Wire wire = pcie(8);
      if (slot_gbps > 0) wire.gbps = slot_gbps;
      connect(topology_, node, memory_near(pci), wire);
    }
  }

  [[nodiscard]] std::string unique_name(const char* name, NodeKind kind) const {
    const std::string_view wanted = name == nullptr ? "" : name;
    if (is_valid_name(wanted) && !find_node(topology_, wanted)) return std::string(wanted);
    return fmt::format("{}{}", to_string(kind), topology_.nodes.size());
  }

  // The NUMA node of an object; where it has several, the first.
  NodeId memory_near(hwloc_obj_t object) {
    while (object != nullptr && object->nodeset == nullptr) object = object->parent;
    for (hwloc_obj_t numa = nullptr; (numa = next(HWLOC_OBJ_NUMANODE, numa)) != nullptr;) {
      const bool is_near =
          object != nullptr && hwloc_bitmap_isset(object->nodeset, numa->os_index) != 0;
      if (is_near) return memory_[numa->logical_index];
    }
    return memory_.front();
  }

  hwloc_obj_t next(hwloc_obj_type_t type, hwloc_obj_t previous) {
    return hwloc_get_next_obj_by_type(hwloc_, type, previous);
  }

  hwloc_topology_t hwloc_;
  Topology topology_;
  std::vector<NodeId> memory_;
  std::vector<hwloc_obj_t> pci_;
};

}  // namespace

Result<Topology> discover() {
  TUTTI_ASSIGN(const Hwloc hwloc, load());
  Topology topology = Builder(hwloc.get()).build();
  TUTTI_TRY(check(topology));
  return topology;
}

}  // namespace tutti::topo

#endif
