// Reads the topology that NCCL writes to NCCL_TOPO_DUMP_FILE, and RCCL's of the same form.
//
// CPUs become hosts, PCI bridges switches, nets NICs, GPUs devices; NVSwitches become one crossbar.
// PCIe and network rates are those of the file. It does not say how fast an NVLink, an xGMI link or
// a socket link is: those come from the GPU's generation and the CPU's model (figures.h).
#pragma once

#include <string>
#include <string_view>

#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::topo {

// `source` names the text in errors. kMalformed with the line, the element and the attribute.
[[nodiscard]] Result<Topology> from_nccl_xml(std::string_view text, const std::string& source);

}  // namespace tutti::topo
