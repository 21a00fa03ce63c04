// The machine that a collective runs on, as a value: named, read from a file, or found on this
// host. Immutable; copies share one graph. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tutti/result.h"

namespace tutti {

namespace topo {
struct Topology;
}

class Topology {
 public:
  // A machine's name ("dgx-1v", "ring:8", "dgx-a100*4"; `tutti topo list` shows them) or the path
  // of a file: ours, NCCL's topology XML, or the output of `nvidia-smi topo -m`.
  static Result<Topology> open(const std::string& name_or_path);
  // This host, a rank for each core. Rates are nominal, not measured.
  static Result<Topology> discover();

  // The same machine seen by these ranks only, renumbered in this order.
  [[nodiscard]] Result<Topology> subset(const std::vector<uint32_t>& ranks) const;

  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] uint32_t num_ranks() const;
  // A summary for people, and the file format of docs/reference/topology.md.
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] std::string to_json() const;

  // For tutti's own parts.
  explicit Topology(std::shared_ptr<const topo::Topology> graph) : graph_(std::move(graph)) {}
  [[nodiscard]] const topo::Topology& graph() const { return *graph_; }

 private:
  std::shared_ptr<const topo::Topology> graph_;
};

}  // namespace tutti
