#include "plan/synth/sketch/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "base/invalid.h"
#include "base/try.h"
#include "ir/builder.h"
#include "ir/layout.h"

namespace tutti::plan::sketch {
namespace {

using ir::Region;
using ir::StepRef;

// Transfers of one link that are one message.
struct Message {
  double when_ns = 0;
  uint32_t phase = 0;
  uint32_t piece = 0;
  uint32_t link = 0;
  std::vector<uint32_t> chunks;
};

// What a rank has of a chunk's piece: where it lies, and the step after which it is complete.
struct Holding {
  std::optional<Region> region;
  std::optional<StepRef> after;
  bool was_passed_up = false;  // as a sum, which then must be complete
};

class Lowerer {
 public:
  Lowerer(const Collective& collective, const std::vector<Phase>& phases,
          const LoweringOptions& options)
      : collective_(collective),
        phases_(phases),
        options_(options),
        demand_(phases.front().demand),
        parts_(demand_.chunks * options.pieces),
        builder_(collective, {.name = options.name,
                              .chunks_per_block = chunks_per_block(),
                              .placement = collective.kind == CollectiveKind::kAllToAll
                                               ? ir::Placement::kOutOfPlace
                                               : ir::Placement::kEither}),
        held_(uint64_t{demand_.num_ranks} * demand_.num_chunks() * options.pieces) {}

  // Nothing where a chunk is sent before it has come, or a sum before it is complete.
  std::optional<ir::Schedule> write() {
    copy_own();
    for (const Message& message : messages()) write_message(message);
    if (!is_in_order_) return std::nullopt;
    return std::move(builder_).finish();
  }

 private:
  [[nodiscard]] bool is_all_reduce() const {
    return collective_.kind == CollectiveKind::kAllReduce;
  }
  [[nodiscard]] uint32_t chunks_per_block() const {
    return is_all_reduce() ? demand_.num_ranks * parts_ : parts_;
  }

  void copy_own() {
    const bool is_alone = collective_.num_ranks == 1;
    const uint32_t count = chunks_per_block();
    for (uint32_t r = 0; r < collective_.num_ranks; ++r) {
      if (is_reducing(collective_.kind) && !is_alone) continue;
      const uint32_t own = collective_.kind == CollectiveKind::kAllToAll ? r * count : 0;
      const uint32_t place = is_reducing(collective_.kind) ? 0 : r * count;
      builder_.add_lane(Rank{r}).copy(ir::input(own, count), ir::output(place, count));
    }
  }

  // All messages in the order in which they would begin. What a message needs comes before it.
  [[nodiscard]] std::vector<Message> messages() const {
    std::vector<Message> all;
    double start_ns = 0;
    double interval_ns = 0;
    for (const Phase& phase : phases_) interval_ns += phase.interval_ns;
    for (uint32_t i = 0; i < phases_.size(); ++i) {
      const double length_ns = makespan_ns(phases_[i].transfers);
      for (Message& message : messages_of(i)) {
        for (uint32_t piece = 0; piece < options_.pieces; ++piece) {
          all.push_back(message);
          all.back().piece = piece;
          all.back().when_ns += start_ns + piece * interval_ns;
        }
      }
      start_ns += length_ns;
    }
    std::stable_sort(all.begin(), all.end(), [](const Message& a, const Message& b) {
      return std::tuple(a.when_ns, a.phase, a.piece) < std::tuple(b.when_ns, b.phase, b.piece);
    });
    return all;
  }

  [[nodiscard]] std::vector<Message> messages_of(uint32_t phase_index) const {
    const Phase& phase = phases_[phase_index];
    const bool is_backward = phase.direction == Direction::kBackward;
    const double length_ns = makespan_ns(phase.transfers);
    std::vector<Message> found;
    std::map<uint32_t, size_t> last;  // message of each link
    for (const Transfer& transfer : phase.transfers) {
      if (transfer.joins && !is_backward) {
        found[last.at(transfer.link)].chunks.push_back(transfer.chunk);
        continue;
      }
      last[transfer.link] = found.size();
      found.push_back({.when_ns = is_backward ? length_ns - transfer.end_ns : transfer.begin_ns,
                       .phase = phase_index,
                       .link = transfer.link,
                       .chunks = {transfer.chunk}});
    }
    // The other way round what came last comes first, also where nothing takes time.
    if (is_backward) std::reverse(found.begin(), found.end());
    return found;
  }

  void write_message(const Message& message) {
    const Phase& phase = phases_[message.phase];
    const Link& link = phase.logical->links[message.link];
    if (phase.direction == Direction::kBackward) {
      add_up(message, link.to, link.from);
      return;
    }
    // What does not lie in one piece at both ends goes in several messages.
    size_t first = 0;
    while (first < message.chunks.size()) {
      Region from = at(link.from, message.chunks[first], message.piece);
      Region to = place(link.to, message.chunks[first], message.piece);
      size_t count = 1;
      while (first + count < message.chunks.size()) {
        const uint32_t next = message.chunks[first + count];
        const Region next_from = at(link.from, next, message.piece);
        if (next_from.buffer != from.buffer || next_from.index != from.index + count) break;
        const Region next_to = place(link.to, next, message.piece);
        if (next_to.buffer != to.buffer || next_to.index != to.index + count) break;
        ++count;
      }
      from.count = to.count = static_cast<uint32_t>(count);
      pass_on(message, {message.chunks.data() + first, count}, from, to);
      first += count;
    }
  }

  void pass_on(const Message& message, std::span<const uint32_t> chunks, Region from, Region to) {
    const Link& link = phases_[message.phase].logical->links[message.link];
    const uint32_t turn = next_turn(message);
    std::vector<StepRef> after;
    for (const uint32_t chunk : chunks) {
      if (const auto step = holding(link.from, chunk, message.piece).after) after.push_back(*step);
    }
    ir::LaneWriter out = lane(message, turn, link.from);
    add_port_order(message, link.from, out.next(), after);
    const StepRef sent = out.send(from, Rank{link.to}, tidy(after));
    note_port_order(message, link.from, sent);
    std::vector<StepRef> before;
    ir::LaneWriter in = lane(message, turn, link.to);
    add_port_order(message, link.to, in.next(), before);
    const StepRef taken = in.recv(to, Rank{link.from}, tidy(before));
    note_port_order(message, link.to, taken);
    for (size_t i = 0; i < chunks.size(); ++i) {
      Region region = to;
      region.index += static_cast<uint32_t>(i);
      region.count = 1;
      holding(link.to, chunks[i], message.piece) = {region, taken};
    }
  }

  // The sender's sum of the chunk goes to the receiver, who adds its own.
  void add_up(const Message& message, uint32_t from, uint32_t to) {
    const uint32_t chunk = message.chunks.front();
    const uint32_t turn = next_turn(message);
    Holding& given = holding(from, chunk, message.piece);
    given.was_passed_up = true;
    std::vector<StepRef> after;
    if (given.after) after.push_back(*given.after);
    ir::LaneWriter out = lane(message, turn, from);
    add_port_order(message, from, out.next(), after);
    const Region source = given.region.value_or(input_of(chunk, message.piece));
    const StepRef sent = out.send(source, Rank{to}, tidy(after));
    note_port_order(message, from, sent);

    Holding& sum = holding(to, chunk, message.piece);
    is_in_order_ = is_in_order_ && !sum.was_passed_up;
    std::vector<StepRef> before;
    if (sum.after) before.push_back(*sum.after);
    const Region own = sum.region.value_or(input_of(chunk, message.piece));
    if (!sum.region) sum.region = sum_place(to, chunk, message.piece);
    ir::LaneWriter in = lane(message, turn, to);
    add_port_order(message, to, in.next(), before);
    sum.after = in.recv_reduce(own, *sum.region, Rank{from}, tidy(before));
    note_port_order(message, to, *sum.after);
  }

  // Lanes of a link take turns; each has a channel of its own.
  uint32_t next_turn(const Message& message) {
    return turns_[{message.phase, message.link}]++ % options_.lanes;
  }
  ir::LaneWriter lane(const Message& message, uint32_t turn, uint32_t rank) {
    const auto key = std::tuple(message.phase, message.link, turn, rank);
    const auto found = lanes_.find(key);
    if (found != lanes_.end()) return found->second;
    const uint32_t channel = message.phase * options_.lanes + turn;
    return lanes_.emplace(key, builder_.add_lane(Rank{rank}, channel)).first->second;
  }

  // A port at the rank's own end: the message that is `lanes` places before this one on it must be
  // through. Ports in the middle of the network cannot be seen from either end.
  void add_port_order(const Message& message, uint32_t rank, StepRef step,
                      std::vector<StepRef>& after) {
    if (!options_.keeps_ports) return;
    for (const uint32_t p : phases_[message.phase].logical->links[message.link].ports) {
      if (!is_port_of(message.phase, p, rank)) continue;
      const std::deque<StepRef>& before = port_steps_[{message.phase, p}];
      if (before.size() < options_.lanes) continue;
      const StepRef last = before.front();
      if (last.lane != step.lane) after.push_back(last);
    }
  }
  void note_port_order(const Message& message, uint32_t rank, StepRef step) {
    if (!options_.keeps_ports) return;
    for (const uint32_t p : phases_[message.phase].logical->links[message.link].ports) {
      if (!is_port_of(message.phase, p, rank)) continue;
      std::deque<StepRef>& before = port_steps_[{message.phase, p}];
      before.push_back(step);
      if (before.size() > options_.lanes) before.pop_front();
    }
  }
  // Whether all links of the port begin, or all end, at this rank, and there are several.
  bool is_port_of(uint32_t phase, uint32_t port, uint32_t rank) {
    if (port_ends_.size() <= phase) port_ends_.resize(phases_.size());
    std::vector<uint32_t>& ends = port_ends_[phase];
    if (ends.empty()) ends = ends_of(*phases_[phase].logical);
    return ends[port] == rank;
  }
  static std::vector<uint32_t> ends_of(const Logical& logical) {
    const size_t num_ports = logical.port_ns_per_byte.size();
    std::vector<uint32_t> from(num_ports, kNone);
    std::vector<uint32_t> to(num_ports, kNone);
    std::vector<uint32_t> users(num_ports, 0);
    constexpr uint32_t kSeveral = kNone - 1;
    for (const Link& link : logical.links) {
      for (const uint32_t p : link.ports) {
        from[p] = from[p] == kNone || from[p] == link.from ? link.from : kSeveral;
        to[p] = to[p] == kNone || to[p] == link.to ? link.to : kSeveral;
        ++users[p];
      }
    }
    std::vector<uint32_t> ends(num_ports, kNone);
    for (size_t p = 0; p < num_ports; ++p) {
      if (users[p] < 2) continue;
      ends[p] = from[p] != kSeveral ? from[p] : to[p] != kSeveral ? to[p] : kNone;
    }
    return ends;
  }

  static ir::After tidy(std::vector<StepRef>& after) {
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    return std::span<const StepRef>(after);
  }

  Holding& holding(uint32_t rank, uint32_t chunk, uint32_t piece) {
    const uint64_t index = uint64_t{rank} * demand_.num_chunks() + chunk;
    return held_[index * options_.pieces + piece];
  }

  // Pieces stand behind each other, so chunks of a piece stand side by side.
  [[nodiscard]] uint32_t part(uint32_t chunk, uint32_t piece) const {
    return piece * demand_.chunks + chunk % demand_.chunks;
  }
  [[nodiscard]] uint32_t in_row(uint32_t block, uint32_t chunk, uint32_t piece) const {
    return block * parts_ + part(chunk, piece);
  }
  // Where a rank's own contribution to a chunk lies.
  [[nodiscard]] Region input_of(uint32_t chunk, uint32_t piece) const {
    if (is_reducing(collective_.kind)) {
      return ir::input(in_row(demand_.origin(chunk), chunk, piece));
    }
    const bool is_exchange = demand_.pattern == Pattern::kExchange;
    return ir::input(in_row(is_exchange ? demand_.target(chunk) : 0, chunk, piece));
  }
  // Where the rank has the chunk now.
  [[nodiscard]] Region at(uint32_t rank, uint32_t chunk, uint32_t piece) {
    const std::optional<Region>& region = holding(rank, chunk, piece).region;
    is_in_order_ = is_in_order_ && (region || rank == demand_.origin(chunk));
    return region.value_or(input_of(chunk, piece));
  }
  // Where a chunk that arrives comes to lie.
  Region place(uint32_t rank, uint32_t chunk, uint32_t piece) {
    if (demand_.pattern == Pattern::kGather || rank == demand_.target(chunk)) {
      return ir::output(in_row(demand_.origin(chunk), chunk, piece));
    }
    Holding& relayed = holding(rank, chunk, piece);
    if (!relayed.region) {
      const ChunkId id((demand_.origin(chunk) * demand_.num_ranks + demand_.target(chunk)) *
                           parts_ +
                       part(chunk, piece));
      relayed.region = ir::scratch(builder_.add_scratch(Rank{rank}, id));
    }
    return *relayed.region;
  }
  // Where sums of a chunk stand.
  Region sum_place(uint32_t rank, uint32_t chunk, uint32_t piece) {
    if (is_all_reduce()) return ir::output(in_row(demand_.origin(chunk), chunk, piece));
    if (rank == demand_.origin(chunk)) return ir::output(part(chunk, piece));
    const ChunkId id(in_row(demand_.origin(chunk), chunk, piece));
    return ir::scratch(builder_.add_scratch(Rank{rank}, id));
  }

  const Collective& collective_;
  const std::vector<Phase>& phases_;
  const LoweringOptions& options_;
  const Demand& demand_;
  uint32_t parts_;  // chunks that a rank's block is cut into, pieces counted
  ir::Builder builder_;
  std::vector<Holding> held_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> turns_;  // by phase and link
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, ir::LaneWriter> lanes_;
  std::map<std::pair<uint32_t, uint32_t>, std::deque<StepRef>> port_steps_;
  std::vector<std::vector<uint32_t>> port_ends_;  // by phase
  bool is_in_order_ = true;
};

}  // namespace

Result<ir::Schedule> lower(const Collective& collective, const std::vector<Phase>& phases,
                           const LoweringOptions& options) {
  const Demand& demand = phases.front().demand;
  const uint64_t parts = uint64_t{demand.chunks} * options.pieces;
  const bool is_one_block = collective.kind == CollectiveKind::kAllReduce;
  const uint64_t chunks = is_one_block ? parts * collective.num_ranks : parts;
  if (chunks > UINT32_MAX) return invalid("so many chunks and pieces no schedule has");
  TUTTI_TRY(ir::Layout::create(collective, static_cast<uint32_t>(chunks)));
  try {
    std::optional<ir::Schedule> schedule = Lowerer(collective, phases, options).write();
    if (schedule) return *std::move(schedule);
    return Error{ErrorCode::kRefused,
                 "the order of these transfers sends a chunk on before it has come"};
  } catch (const std::length_error&) {
    return invalid("such a schedule has too many steps; ask for fewer chunks");
  }
}

}  // namespace tutti::plan::sketch
