// Machines by name: those one can buy (`dgx-a100`) and shapes of any size (`ring:8@25GB/s,700ns`).
// Clusters of them are in cluster.h; open.h takes all of these and files.
#pragma once

#include <span>
#include <string_view>

#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::topo {

struct MachineEntry {
  std::string_view name;  // as one writes it: "dgx-1v", "torus:AxB[xC]"
  std::string_view idea;  // one line for lists and help
};

// All machines and shapes, in the order in which a list shows them.
[[nodiscard]] std::span<const MachineEntry> machine_list();

// Whether the text begins with the name of a machine or shape; then make_machine is the one to ask,
// even if what follows the name is wrong.
[[nodiscard]] bool names_machine(std::string_view text);

// kNotFound listing what exists, with the nearest name as a hint; kInvalidArgument for a size or
// figure of a shape that cannot be.
[[nodiscard]] Result<Topology> make_machine(std::string_view text);

}  // namespace tutti::topo
