#include "plan/synth/steps/step_sums.h"

#include <span>

namespace tutti::plan::steps {

SideBySideSums::SideBySideSums(ir::Builder& builder, const synth::Network& network,
                               const synth::SpreadLayout& layout, uint32_t lanes)
    : builder_(builder),
      network_(network),
      layout_(layout),
      lanes_(builder, network, {lanes, 0, synth::Way::kBackwards}),
      arrived_(size_t{network.num_ranks} * layout.owner.size()) {}

void SideBySideSums::write(const synth::Transfer& transfer) {
  const synth::Hop& hop = network_.hops[transfer.hop];
  synth::PortLanes::Ends ends = lanes_.next(hop);
  if (arrived(hop.to, transfer.chunk).empty()) {
    ends.send.send(ir::input(transfer.chunk), Rank{hop.from});
  } else {
    const Arrived sum = add_up(hop.to, transfer.chunk);
    ends.send.send(sum.where, Rank{hop.from}, {sum.step});
  }
  const ir::Region place = ir::scratch(builder_.add_scratch(Rank{hop.from}, ir::kAnyChunk));
  arrived(hop.from, transfer.chunk).push_back({place, ends.recv.recv(place, Rank{hop.to})});
}

// Where the first has arrived; the owner's in output.
SideBySideSums::Arrived SideBySideSums::add_up(uint32_t rank, uint32_t chunk) {
  const std::vector<Arrived>& all = arrived(rank, chunk);
  ir::LaneWriter lane = builder_.add_lane(Rank{rank});
  Arrived sum = all.front();
  for (size_t i = 1; i < all.size(); ++i) {
    sum.step = lane.reduce(all[i].where, sum.where, {all.front().step, all[i].step});
  }
  if (layout_.owner[chunk] != rank) {
    sum.step = lane.reduce(ir::input(chunk), sum.where, {all.front().step});
    return sum;
  }
  const bool has_one_block = builder_.layout().collective().kind == CollectiveKind::kReduceScatter;
  const ir::Region result = ir::output(has_one_block ? chunk % layout_.chunks_per_block : chunk);
  lane.copy(ir::input(chunk), result);
  return {result, lane.reduce(sum.where, result, {sum.step})};
}

std::vector<ir::StepRef> SideBySideSums::finish() {
  std::vector<ir::StepRef> steps;
  for (uint32_t c = 0; c < layout_.owner.size(); ++c) {
    steps.push_back(add_up(layout_.owner[c], c).step);
  }
  return steps;
}

}  // namespace tutti::plan::steps
