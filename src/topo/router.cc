#include "topo/router.h"

#include <fmt/format.h>

#include "topo/route_search.h"

namespace tutti::topo {

Router::Router(const Topology& topology)
    : topology_(topology), search_(std::make_unique<RouteSearch>(topology)) {}

Router::~Router() = default;

Result<std::span<const LinkId>> Router::route(Rank from, Rank to) {
  const uint32_t num_ranks = topology_.num_ranks();
  if (from.value >= num_ranks || to.value >= num_ranks) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("no route from rank {} to rank {}: the topology has {} ranks",
                             from.value, to.value, num_ranks)};
  }
  const NodeId begin = topology_.ranks[from.value];
  const NodeId end = topology_.ranks[to.value];
  if (begin == end) return std::span<const LinkId>{};

  const uint64_t key = uint64_t{from.value} << 32 | to.value;
  const auto [entry, is_new] = routes_.try_emplace(key);
  if (is_new) entry->second = search_->find(begin, end, to.value);
  if (entry->second.empty()) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("no route from rank {} ({}) to rank {} ({}): no links lead there "
                             "without passing through another device or a third machine",
                             from.value, topology_.device_of(from).name, to.value,
                             topology_.device_of(to).name)};
  }
  return std::span<const LinkId>(entry->second);
}

}  // namespace tutti::topo
