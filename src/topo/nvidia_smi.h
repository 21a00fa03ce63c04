// Reads the matrix that `nvidia-smi topo -m` prints, legends and colours included.
//
// The matrix says which devices share what, not how fast it is: NVLinks are taken as 25 GB/s each
// (NVLink 2 to 4), PCIe as 8 GT/s x16, NICs as 100 Gb/s, sockets as NCCL takes Skylake's. GPUs
// whose NVLinks to the others add up to more than any GPU has are on NVSwitches: they get one
// crossbar. Where NV# hides the PCIe way between two GPUs, their NICs and NUMA affinities tell it.
#pragma once

#include <string>
#include <string_view>

#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::topo {

// Whether some line looks like the header of such a matrix.
[[nodiscard]] bool looks_like_nvidia_smi(std::string_view text);

// `source` names the text in errors. kMalformed with the line, the row and the column.
[[nodiscard]] Result<Topology> from_nvidia_smi(std::string_view text, const std::string& source);

}  // namespace tutti::topo
