// A topology from what a person writes: a machine, a cluster, a file, or this host.
#pragma once

#include <string>
#include <string_view>

#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::topo {

// The reader is found by the text's first character: `{` is our JSON, `<` NCCL's XML, else it must
// be the matrix of `nvidia-smi topo -m`. A topology that has no name gets the source's.
[[nodiscard]] Result<Topology> parse_topology(std::string_view text, const std::string& source);
// "-" is standard input.
[[nodiscard]] Result<Topology> read_topology(const std::string& path);

// "host" (discover.h), the name of a machine or shape (machines.h), a path, or a cluster of one of
// the last two (cluster.h). A result has passed topo::check.
[[nodiscard]] Result<Topology> open(const std::string& text);

}  // namespace tutti::topo
