#include "plan/synth/steps/step_writer.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "base/try.h"
#include "ir/builder.h"
#include "plan/algorithms/chunking.h"
#include "plan/synth/greedy_schedule.h"
#include "plan/synth/steps/step_sums.h"

namespace tutti::plan::steps {
namespace {

using synth::PortLanes;
using synth::Transfer;
using synth::Way;

// The network as writers of transfers take it: every hop has a port of its own at both ends, so
// that none waits for another.
synth::Network writers_network(const StepNetwork& network) {
  synth::Network result;
  result.num_ranks = network.num_ranks;
  result.num_from_ports.assign(network.num_ranks, 0);
  result.num_to_ports.assign(network.num_ranks, 0);
  for (const StepHop& each : network.hops) {
    synth::Hop hop{.from = each.from, .to = each.to};
    hop.from_port = result.num_from_ports[each.from]++;
    hop.to_port = result.num_to_ports[each.to]++;
    result.hops.push_back(hop);
  }
  return result;
}

// Messages of a hop in one step go side by side.
uint32_t most_on_a_hop(std::span<const Move> moves) {
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> counts;
  uint32_t most = 1;
  for (const Move& move : moves) most = std::max(most, ++counts[{move.hop, move.step}]);
  return most;
}

// Everyone sends its whole input to everyone, some through others, and each adds up all of them in
// rank order: the same bits everywhere. A place is added into when all that had to be sent on from
// it has been taken; in place the result is the own input, of which the same holds.
class AtOnceWriter {
 public:
  AtOnceWriter(ir::Builder& builder, const synth::Network& network, uint32_t chunks, uint32_t lanes)
      : builder_(builder),
        network_(network),
        chunks_(chunks),
        lanes_(builder, network, {lanes, 0, Way::kForwards}),
        held_(size_t{network.num_ranks} * network.num_ranks * chunks) {}

  void write(const Transfer& transfer) {
    const synth::Hop& hop = network_.hops[transfer.hop];
    const uint32_t owner = transfer.chunk / chunks_;
    PortLanes::Ends ends = lanes_.next(hop);
    Held& from = held(hop.from, transfer.chunk);
    const bool is_own = owner == hop.from;
    const ir::Region source = is_own ? ir::input(transfer.chunk % chunks_) : from.where;
    from.sent.push_back(ends.send.send(
        source, Rank{hop.to}, is_own ? ir::After() : ir::After(std::span(&from.arrived, 1))));
    Held& to = held(hop.to, transfer.chunk);
    to.where = ir::scratch(builder_.add_scratch(Rank{hop.to}, ir::kAnyChunk));
    to.arrived = ends.recv.recv(to.where, Rank{hop.from});
  }

  void add_up() {
    for (uint32_t r = 0; r < network_.num_ranks; ++r) {
      for (uint32_t part = 0; part < chunks_; ++part) add_up(r, part);
    }
  }

 private:
  struct Held {
    ir::Region where = {};
    ir::StepRef arrived = {};
    std::vector<ir::StepRef> sent = {};
  };
  Held& held(uint32_t rank, uint32_t chunk) {
    return held_[(size_t{rank} * network_.num_ranks * chunks_) + chunk];
  }

  // Those below r meet where rank 0's lies, then the own is added and those above.
  void add_up(uint32_t r, uint32_t part) {
    const auto of = [&](uint32_t q) -> Held& { return held(r, q * chunks_ + part); };
    ir::LaneWriter lane = builder_.add_lane(Rank{r});
    for (uint32_t q = 1; q < r; ++q) {
      std::vector<ir::StepRef> after = {of(q).arrived, of(0).arrived};
      if (q == 1) after.insert(after.end(), of(0).sent.begin(), of(0).sent.end());
      lane.reduce(of(q).where, of(0).where, ir::After(after));
    }
    lane.copy(ir::input(part), ir::output(part), ir::After(of(r).sent));
    for (uint32_t q = 0; q < network_.num_ranks; ++q) {
      if ((q > 0 && q <= r) || q == r) continue;
      lane.reduce(of(q).where, ir::output(part), ir::After(std::span(&of(q).arrived, 1)));
    }
  }

  ir::Builder& builder_;
  const synth::Network& network_;
  uint32_t chunks_;
  PortLanes lanes_;
  std::vector<Held> held_;  // by rank and chunk
};

class StepWriter {
 public:
  StepWriter(const Collective& collective, const StepNetwork& network, const StepMoves& moves,
             uint32_t chunks_per_block)
      : collective_(collective),
        network_(writers_network(network)),
        back_(writers_network(reversed(network))),
        moves_(moves),
        builder_(collective, {.name = "steps",
                              .chunks_per_block = chunks_per_block,
                              .placement = collective.kind == CollectiveKind::kAllToAll
                                               ? ir::Placement::kOutOfPlace
                                               : ir::Placement::kEither}),
        lanes_(std::max(most_on_a_hop(moves.forth), most_on_a_hop(moves.back))) {
    layout_.chunks_per_block = chunks_per_block;
    const uint32_t owners = is_rooted(collective.kind) ? 1 : collective.num_ranks;
    for (uint32_t c = 0; c < owners * moves.chunks; ++c) {
      layout_.owner.push_back(owners == 1 ? collective.root : c / moves.chunks);
    }
  }

  ir::Schedule write() {
    copy_own();
    switch (moves_.shape) {
      case Shape::kDirect: write_forth({}); break;
      case Shape::kBack: write_back(); break;
      case Shape::kTwice: write_forth(write_back()); break;
      case Shape::kAtOnce: write_at_once(); break;
    }
    return std::move(builder_).finish();
  }

 private:
  template <class Writer>
  static void write_all(std::span<const Move> moves, Writer& writer) {
    for (const Move& move : moves) writer.write({move.hop, move.chunk});
  }

  void write_forth(std::vector<ir::StepRef> sums) {
    if (collective_.kind == CollectiveKind::kAllToAll) {
      synth::DeliverWriter writer(builder_, network_, {lanes_, 0, Way::kForwards});
      write_all(moves_.forth, writer);
      return;
    }
    const uint32_t first_channel = sums.empty() ? 0 : lanes_;
    synth::SpreadWriter writer(builder_, network_, layout_, {lanes_, first_channel, Way::kForwards},
                               std::move(sums));
    write_all(moves_.forth, writer);
  }

  // The last move of the spread is the first to be written.
  std::vector<ir::StepRef> write_back() {
    SideBySideSums writer(builder_, back_, layout_, lanes_);
    const std::vector<Move> turned(moves_.back.rbegin(), moves_.back.rend());
    write_all(turned, writer);
    return writer.finish();
  }

  void write_at_once() {
    AtOnceWriter writer(builder_, network_, moves_.chunks, lanes_);
    write_all(moves_.forth, writer);
    writer.add_up();
  }

  void copy_own() {
    const uint32_t k = layout_.chunks_per_block;
    if (collective_.kind == CollectiveKind::kBroadcast) {
      builder_.add_lane(Rank{collective_.root}).copy(ir::input(0, k), ir::output(0, k));
    }
    const bool is_all_to_all = collective_.kind == CollectiveKind::kAllToAll;
    if (!is_all_to_all && collective_.kind != CollectiveKind::kAllGather) return;
    for (uint32_t r = 0; r < collective_.num_ranks; ++r) {
      builder_.add_lane(Rank{r}).copy(ir::input(is_all_to_all ? r * k : 0, k),
                                      ir::output(r * k, k));
    }
  }

  const Collective& collective_;
  synth::Network network_;
  synth::Network back_;
  const StepMoves& moves_;
  ir::Builder builder_;
  uint32_t lanes_;
  synth::SpreadLayout layout_;
};

}  // namespace

Result<ir::Schedule> write_steps(const Collective& collective, const StepNetwork& network,
                                 const StepMoves& moves) {
  const uint64_t parts =
      moves.shape == Shape::kTwice ? uint64_t{moves.chunks} * network.num_ranks : moves.chunks;
  TUTTI_ASSIGN(const uint32_t chunks, chunks_per_block(collective, parts));
  return StepWriter(collective, network, moves, chunks).write();
}

}  // namespace tutti::plan::steps
