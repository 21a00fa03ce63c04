#include "plan/synth/greedy_schedule.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "plan/synth/greedy_clock.h"

namespace tutti::plan::synth {
namespace {

constexpr double kMaxLanesAPort = 4;
// Latency that is this much of the time on the wire is no reason for a second lane, which would
// make two messages share the wire and both come late.
constexpr double kIgnored = 0.1;

}  // namespace

uint32_t lanes_a_port(const Network& network, double chunk_bytes) {
  double most = 1;
  for (const Hop& hop : network.hops) {
    const auto wire_ps = static_cast<double>(transfer_ps(chunk_bytes, hop.kb_per_s));
    const double waiting = static_cast<double>(hop.latency_ps) / wire_ps;
    most = std::max(most, 1 + std::ceil(waiting - kIgnored));
  }
  return static_cast<uint32_t>(std::min(most, kMaxLanesAPort));
}

PortLanes::PortLanes(ir::Builder& builder, const Network& network, const Shape& shape)
    : builder_(builder), shape_(shape), first_hop_(network.hops.data()) {
  const bool is_forwards = shape.way == Way::kForwards;
  senders_ = make_side(is_forwards ? network.num_from_ports : network.num_to_ports);
  receivers_ = make_side(is_forwards ? network.num_to_ports : network.num_from_ports);
  size_t num_places = receivers_.under_way.size();
  if (shape.turns == Turns::kWindow) {
    num_places = network.hops.size();
    senders_.lanes.resize(num_places * shape.lanes_a_port);
    receivers_.lanes.resize(num_places * shape.lanes_a_port);
  }
  num_received_.assign(num_places, 0);
  for (const auto* counts : {&network.num_from_ports, &network.num_to_ports}) {
    const uint32_t most = *std::max_element(counts->begin(), counts->end());
    most_lanes_ = std::max(most_lanes_, most * shape.lanes_a_port);
  }
}

PortLanes::Side PortLanes::make_side(const std::vector<uint32_t>& num_ports) const {
  Side side;
  size_t next = 0;
  for (const uint32_t count : num_ports) {
    side.first_port.push_back(next);
    next += count;
  }
  side.lanes.resize(next * shape_.lanes_a_port);
  side.under_way.resize(next);
  return side;
}

ir::LaneWriter PortLanes::lane(Side& side, uint32_t rank, size_t place, uint32_t turn) {
  auto& lane = side.lanes[place * shape_.lanes_a_port + turn];
  if (!lane) lane = builder_.add_lane(Rank{rank}, shape_.first_channel + turn);
  return *lane;
}

// The message that was as many places before this one as may be under way must be through.
std::vector<ir::StepRef> PortLanes::wait_in(Side& side, size_t port, ir::StepRef step) const {
  std::deque<ir::StepRef>& before = side.under_way[port];
  before.push_back(step);
  if (before.size() <= shape_.lanes_a_port) return {};
  const ir::StepRef last = before.front();
  before.pop_front();
  return last.lane == step.lane ? std::vector<ir::StepRef>{} : std::vector{last};
}

PortLanes::Ends PortLanes::next(const Hop& hop) {
  const bool is_forwards = shape_.way == Way::kForwards;
  const uint32_t sender = is_forwards ? hop.from : hop.to;
  const uint32_t receiver = is_forwards ? hop.to : hop.from;
  const size_t send_port =
      senders_.first_port[sender] + (is_forwards ? hop.from_port : hop.to_port);
  const size_t recv_port =
      receivers_.first_port[receiver] + (is_forwards ? hop.to_port : hop.from_port);
  const bool has_windows = shape_.turns == Turns::kWindow;
  const auto hop_index = static_cast<size_t>(&hop - first_hop_);
  const size_t place = has_windows ? hop_index : recv_port;
  const uint32_t turn = num_received_[place]++ % shape_.lanes_a_port;
  Ends ends{lane(senders_, sender, has_windows ? place : send_port, turn),
            lane(receivers_, receiver, place, turn)};
  if (!has_windows) return ends;
  ends.send_after = wait_in(senders_, send_port, ends.send.next());
  ends.recv_after = wait_in(receivers_, recv_port, ends.recv.next());
  return ends;
}

ir::After PortLanes::Ends::send_when(std::optional<ir::StepRef> ready) {
  if (ready) send_after.push_back(*ready);
  return {std::span<const ir::StepRef>(send_after)};
}
ir::After PortLanes::Ends::recv_when(std::optional<ir::StepRef> free) {
  if (free) recv_after.push_back(*free);
  return {std::span<const ir::StepRef>(recv_after)};
}

ScratchPool::Position ScratchPool::take(uint32_t rank) {
  auto& free = free_[rank];
  if (free.size() <= slack_) return {builder_.add_scratch(Rank{rank}, ir::kAnyChunk)};
  const Position oldest = free.front();
  free.pop_front();
  return oldest;
}

SpreadWriter::SpreadWriter(ir::Builder& builder, const Network& network, const SpreadLayout& layout,
                           const PortLanes::Shape& shape, std::vector<ir::StepRef> ready)
    : network_(network),
      layout_(layout),
      lanes_(builder, network, shape),
      ready_(std::move(ready)),
      input_chunks_(layout.chunks_per_block),
      arrivals_(size_t{network.num_ranks} * layout.owner.size()) {}

void SpreadWriter::write(const Transfer& transfer) {
  const Hop& hop = network_.hops[transfer.hop];
  const uint32_t chunk = transfer.chunk;
  const bool is_owner = layout_.owner[chunk] == hop.from;
  PortLanes::Ends ends = lanes_.next(hop);
  if (is_owner && ready_.empty()) {
    ends.send.send(ir::input(chunk % input_chunks_), Rank{hop.to}, ends.send_when({}));
  } else {
    const ir::StepRef before = is_owner ? ready_[chunk] : arrival(hop.from, chunk);
    ends.send.send(ir::output(chunk), Rank{hop.to}, ends.send_when(before));
  }
  arrival(hop.to, chunk) = ends.recv.recv(ir::output(chunk), Rank{hop.from}, ends.recv_when({}));
}

SumWriter::SumWriter(ir::Builder& builder, const Network& network, const SpreadLayout& layout,
                     const PortLanes::Shape& shape)
    : network_(network),
      layout_(layout),
      kind_(builder.layout().collective().kind),
      lanes_(builder, network, shape),
      sums_(size_t{network.num_ranks} * layout.owner.size()),
      scratch_(builder, 2 * lanes_.most_lanes()) {}

ir::Region SumWriter::place(uint32_t rank, uint32_t chunk, const Sum& sum) const {
  if (sum.position != kNoPosition) return ir::scratch(sum.position);
  const bool is_in_block = kind_ == CollectiveKind::kReduceScatter && layout_.owner[chunk] == rank;
  return ir::output(is_in_block ? chunk % layout_.chunks_per_block : chunk);
}

void SumWriter::write(const Transfer& transfer) {
  const Hop& hop = network_.hops[transfer.hop];
  const uint32_t chunk = transfer.chunk;
  PortLanes::Ends ends = lanes_.next(hop);

  Sum& sent = sum(hop.to, chunk);
  const ir::Region from = sent.is_begun ? place(hop.to, chunk, sent) : ir::input(chunk);
  std::optional<ir::StepRef> ready;
  if (sent.is_begun) ready = sent.last;
  const ir::StepRef send = ends.send.send(from, Rank{hop.from}, ends.send_when(ready));
  if (sent.position != kNoPosition) scratch_.give(hop.to, sent.position, send);

  Sum& grown = sum(hop.from, chunk);
  std::optional<ir::StepRef> before;
  if (grown.is_begun) before = grown.last;
  const bool in_output = kind_ == CollectiveKind::kAllReduce || layout_.owner[chunk] == hop.from;
  if (!grown.is_begun && !in_output) {
    const ScratchPool::Position fresh = scratch_.take(hop.from);
    grown.position = fresh.index;
    before = fresh.taken;
  }
  const ir::Region to = place(hop.from, chunk, grown);
  grown.last = ends.recv.recv_reduce(grown.is_begun ? to : ir::input(chunk), to, Rank{hop.to},
                                     ends.recv_when(before));
  grown.is_begun = true;
}

std::vector<ir::StepRef> SumWriter::owners_sums() const {
  std::vector<ir::StepRef> steps;
  for (uint32_t c = 0; c < layout_.owner.size(); ++c) {
    steps.push_back(sums_[size_t{layout_.owner[c]} * layout_.owner.size() + c].last);
  }
  return steps;
}

DeliverWriter::DeliverWriter(ir::Builder& builder, const Network& network,
                             const PortLanes::Shape& shape)
    : builder_(builder),
      network_(network),
      lanes_(builder, network, shape),
      places_(builder.layout().num_chunks()),
      scratch_(builder, 2 * lanes_.most_lanes()) {}

void DeliverWriter::write(const Transfer& transfer) {
  const Hop& hop = network_.hops[transfer.hop];
  const uint32_t k = builder_.layout().chunks_per_block();
  const uint32_t part = transfer.chunk % k;
  const uint32_t source = transfer.chunk / k / network_.num_ranks;
  const uint32_t destination = transfer.chunk / k % network_.num_ranks;
  Place& place = places_[transfer.chunk];
  PortLanes::Ends ends = lanes_.next(hop);

  if (hop.from == source) {
    ends.send.send(ir::input(destination * k + part), Rank{hop.to}, ends.send_when({}));
  } else {
    const ir::StepRef send =
        ends.send.send(ir::scratch(place.position), Rank{hop.to}, ends.send_when(place.arrived));
    scratch_.give(hop.from, place.position, send);
  }
  if (hop.to == destination) {
    ends.recv.recv(ir::output(source * k + part), Rank{hop.from}, ends.recv_when({}));
    return;
  }
  const ScratchPool::Position fresh = scratch_.take(hop.to);
  place.position = fresh.index;
  place.arrived =
      ends.recv.recv(ir::scratch(fresh.index), Rank{hop.from}, ends.recv_when(fresh.taken));
}

}  // namespace tutti::plan::synth
