// Maximum flow and minimum cut on a small graph with whole capacities (Boost.Graph's push-relabel).
// Asked thousands of times of almost the same graph: so the graph stays, and capacities change.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace tutti::plan::packing {

// The capacity of an arc that limits nothing.
inline constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

class Flow {
 public:
  explicit Flow(uint32_t num_nodes);
  Flow(Flow&&) noexcept;
  Flow& operator=(Flow&&) noexcept;
  ~Flow();

  // Returns the node's number.
  uint32_t add_node();
  // Returns the arc's number. Arcs of capacity 0 are allowed; parallel ones too.
  uint32_t add(uint32_t from, uint32_t to, int64_t capacity);
  // All arcs of a capacity matrix.
  void add_all(const std::vector<std::vector<int64_t>>& capacity);
  void set_capacity(uint32_t arc, int64_t capacity) { capacity_[arc] = capacity; }

  // May be asked again with other ends. The ends must differ. Where nothing limits it, more than
  // all limits together.
  int64_t run(uint32_t source, uint32_t sink);

  // Of the last run: the nodes that the source still reaches, and what flows through an arc.
  [[nodiscard]] std::vector<bool> source_side() const;
  [[nodiscard]] int64_t on(uint32_t arc) const;

 private:
  struct Network;
  std::unique_ptr<Network> network_;
  std::vector<int64_t> capacity_;  // by arc
  uint32_t source_ = 0;            // of the last run
};

}  // namespace tutti::plan::packing
