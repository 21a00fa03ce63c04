#include "plan/packing/ring_schedule.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/try.h"
#include "ir/builder.h"
#include "plan/algorithms/chunking.h"
#include "plan/algorithms/ring_pieces.h"

namespace tutti::plan::packing {
namespace {

using namespace ir;

// Of each ring: a number that it shares with no ring that has an edge in common with it, so that
// few channels do.
std::vector<uint32_t> colours_of(std::span<const Ring> rings) {
  using Edge = std::pair<uint32_t, uint32_t>;
  std::vector<std::set<Edge>> taken;  // by colour
  std::vector<uint32_t> colours;
  for (const Ring& ring : rings) {
    std::set<Edge> edges;
    for (size_t i = 0; i < ring.size(); ++i) edges.emplace(ring[i], ring[(i + 1) % ring.size()]);
    const auto is_free = [&](const std::set<Edge>& others) {
      return std::none_of(edges.begin(), edges.end(),
                          [&](const Edge& edge) { return others.contains(edge); });
    };
    const auto found = std::find_if(taken.begin(), taken.end(), is_free);
    colours.push_back(static_cast<uint32_t>(found - taken.begin()));
    if (found == taken.end()) taken.emplace_back();
    taken[colours.back()].insert(edges.begin(), edges.end());
  }
  return colours;
}

void write_ring_piece(Builder& b, const RingSeat& at, const RingPiece& piece) {
  const CollectiveKind kind = b.layout().collective().kind;
  if (kind == CollectiveKind::kAllReduce) return write_all_reduce_piece(b, at, piece);
  if (kind == CollectiveKind::kAllGather) return write_all_gather_piece(b, at, piece);
  write_reduce_scatter_piece(b, at, piece);
}

}  // namespace

Result<Schedule> ring_schedule(const Collective& collective, std::span<const Ring> rings,
                               const TreeScheduleOptions& options) {
  if (is_rooted(collective.kind)) {
    return tree_schedule(collective, trees_along({rings.begin(), rings.end()}, collective),
                         options);
  }
  const uint32_t p = collective.num_ranks;
  const uint64_t num_pieces = rings.size() * options.pieces;
  const bool is_one_block = collective.kind == CollectiveKind::kAllReduce;
  TUTTI_ASSIGN(const uint32_t chunks,
               chunks_per_block(collective, is_one_block ? p * num_pieces : num_pieces));
  Builder b(collective, {.name = options.name, .chunks_per_block = chunks});
  const std::vector<uint32_t> colours = colours_of(rings);
  for (uint32_t i = 0; i < rings.size(); ++i) {
    for (uint32_t piece = 0; piece < options.pieces; ++piece) {
      for (uint32_t seat = 0; seat < p; ++seat) {
        write_ring_piece(b, {rings[i], seat},
                         {i * options.pieces + piece, static_cast<uint32_t>(num_pieces),
                          colours[i] * options.pieces + piece});
      }
    }
  }
  if (collective.kind == CollectiveKind::kAllGather) {
    for (uint32_t r = 0; r < p; ++r) {
      b.add_lane(Rank{r}).copy(input(0, chunks), output(r * chunks, chunks));
    }
  }
  return std::move(b).finish();
}

}  // namespace tutti::plan::packing
