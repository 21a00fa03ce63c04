// Topologies as files of ours: JSON, read and written without loss. The schema is in
// docs/reference/topology.md.
#pragma once

#include <string>
#include <string_view>

#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::topo {

// `source` names the text in errors. kMalformed with the line and the field.
[[nodiscard]] Result<Topology> from_json(std::string_view text, const std::string& source);

// One node or link a line, so that a diff shows what changed. The topology must pass topo::check.
[[nodiscard]] std::string to_json(const Topology& topology);

}  // namespace tutti::topo
