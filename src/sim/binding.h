// Which links can hold a flow back. One that is wider than all it is fed from or drained into never
// does: the 100 GB/s between a device and its four links of 25 are full only when all four are.
// Max-min fairness is the same without such links, and what shares nothing but them is joined no
// more: a change on one link of a torus is looked at there, and not on all of the torus.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topo/topology.h"

namespace tutti::sim {

class BindingLinks {
 public:
  explicit BindingLinks(const std::vector<double>& link_gbps)
      : gbps_(link_gbps), binds_(link_gbps.size(), false), guards_(link_gbps.size()) {}

  // A way that flows may take, alone or as a part of a longer one. All of them, before `find`.
  void add_route(std::span<const topo::LinkId> route);

  // By link; false where no route has it.
  [[nodiscard]] const std::vector<bool>& find() const { return binds_; }

 private:
  // Narrower links that everything on a link passes too, each once, and their rates together.
  struct Guards {
    std::vector<uint32_t> links;
    double gbps = 0;
  };

  void guard(uint32_t link, uint32_t by);

  const std::vector<double>& gbps_;
  std::vector<bool> binds_;
  std::vector<Guards> guards_;
};

}  // namespace tutti::sim
