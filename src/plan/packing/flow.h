// Maximum flow and minimum cut on a small graph with whole capacities (Boost.Graph's push-relabel).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace tutti::plan::packing {

// The capacity of an arc that limits nothing.
inline constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

class Flow {
 public:
  explicit Flow(uint32_t num_nodes) : num_nodes_(num_nodes) {}

  // Returns the arc's number. Arcs of capacity 0 are allowed; parallel ones too.
  uint32_t add(uint32_t from, uint32_t to, int64_t capacity);
  // All arcs of a capacity matrix.
  void add_all(const std::vector<std::vector<int64_t>>& capacity);

  // May be asked again with other ends. The ends must differ. Where nothing limits it, more than
  // all limits together.
  int64_t run(uint32_t source, uint32_t sink);

  // Of the last run: the nodes that the source still reaches, and what flows through an arc.
  [[nodiscard]] const std::vector<bool>& source_side() const { return source_side_; }
  [[nodiscard]] int64_t on(uint32_t arc) const { return flow_[arc]; }

 private:
  struct Arc {
    uint32_t from;
    uint32_t to;
    int64_t capacity;
  };

  uint32_t num_nodes_;
  std::vector<Arc> arcs_;
  std::vector<int64_t> flow_;
  std::vector<bool> source_side_;
};

}  // namespace tutti::plan::packing
