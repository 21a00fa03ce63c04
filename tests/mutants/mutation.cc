#include "tests/mutants/mutation.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "ir/layout.h"
#include "tests/mutants/draft.h"

namespace tutti::mutants {
namespace {

using ir::Buffer;
using ir::StepKind;

class Mutator {
 public:
  Mutator(const ir::Schedule& schedule, std::mt19937_64& random)
      : random_(random),
        layout_(ir::Layout::create(schedule.collective, schedule.chunks_per_block).value()),
        draft_(schedule) {}

  Mutant run();

 private:
  struct Place {
    uint32_t rank;
    uint32_t lane;
    uint32_t index;
  };

  uint32_t pick(size_t n) { return static_cast<uint32_t>(random_() % n); }
  std::optional<Place> pick_step();
  DraftLane& lane(Place at) { return draft_.ranks[at.rank][at.lane]; }
  DraftStep& at(Place place) { return lane(place).steps[place.index]; }
  void erase(Place at) { lane(at).steps.erase(lane(at).steps.begin() + at.index); }
  void insert(Place at, DraftStep step) {
    lane(at).steps.insert(lane(at).steps.begin() + at.index, std::move(step));
  }
  uint32_t buffer_length(uint32_t rank, Buffer buffer) const;
  ir::Region pick_region(uint32_t rank, uint32_t count);
  // The step that takes what the step at `send` sends, by counting on its connection.
  std::optional<Place> taker_of(Place send) const;

  void drop_step(Place at) { erase(at); }
  void drop_message(Place at);
  void double_message(Place at);
  void swap_steps(Place at);
  void change_src(Place at);
  void change_dst(Place at);
  void change_kind(Place at);
  void change_count(Place at);
  void change_peer(Place at);
  void drop_dependency(Place at);
  void add_dependency(Place at);
  void move_step(Place at);
  void change_scratch(Place at);
  void change_head(Place at);

  std::mt19937_64& random_;
  const ir::Layout layout_;
  Draft draft_;
};

std::optional<Mutator::Place> Mutator::pick_step() {
  std::vector<Place> places;
  for (uint32_t r = 0; r < draft_.ranks.size(); ++r) {
    for (uint32_t l = 0; l < draft_.ranks[r].size(); ++l) {
      for (uint32_t i = 0; i < draft_.ranks[r][l].steps.size(); ++i) places.push_back({r, l, i});
    }
  }
  if (places.empty()) return std::nullopt;
  return places[pick(places.size())];
}

Mutant Mutator::run() {
  struct Change {
    const char* name;
    void (Mutator::*apply)(Place);
  };
  static constexpr std::array kChanges = {
      Change{"drop a step", &Mutator::drop_step},
      Change{"drop a message", &Mutator::drop_message},
      Change{"double a message", &Mutator::double_message},
      Change{"swap two steps of a lane", &Mutator::swap_steps},
      Change{"swap two steps of a lane", &Mutator::swap_steps},
      Change{"change what is read", &Mutator::change_src},
      Change{"change what is read", &Mutator::change_src},
      Change{"change what is written", &Mutator::change_dst},
      Change{"change what is written", &Mutator::change_dst},
      Change{"change the kind", &Mutator::change_kind},
      Change{"change the kind", &Mutator::change_kind},
      Change{"change the number of chunks", &Mutator::change_count},
      Change{"change a peer", &Mutator::change_peer},
      Change{"drop a dependency", &Mutator::drop_dependency},
      Change{"drop a dependency", &Mutator::drop_dependency},
      Change{"add a dependency", &Mutator::add_dependency},
      Change{"add a dependency", &Mutator::add_dependency},
      Change{"move a step to another lane", &Mutator::move_step},
      Change{"change the scratch", &Mutator::change_scratch},
      Change{"change slots, placement or root", &Mutator::change_head},
  };
  const Change& change = kChanges[pick(kChanges.size())];
  if (const auto place = pick_step()) (this->*change.apply)(*place);
  return {change.name, draft_.to_schedule()};
}

uint32_t Mutator::buffer_length(uint32_t rank, Buffer buffer) const {
  if (buffer != Buffer::kScratch) return layout_.num_chunks(Rank{rank}, buffer);
  return static_cast<uint32_t>(draft_.head.ranks[rank].scratch.size());
}

// A region that exists, where there is one: faults of shape are the least interesting.
ir::Region Mutator::pick_region(uint32_t rank, uint32_t count) {
  for (int i = 0; i < 10; ++i) {
    const auto buffer = static_cast<Buffer>(pick(ir::kNumBuffers));
    const uint32_t length = buffer_length(rank, buffer);
    if (length >= count && count > 0) return {buffer, pick(length - count + 1), count};
  }
  return {Buffer::kInput, 0, count};
}

std::optional<Mutator::Place> Mutator::taker_of(Place send) const {
  const DraftLane& from = draft_.ranks[send.rank][send.lane];
  const Rank to = from.steps[send.index].step.send_peer;
  if (to.value >= draft_.ranks.size()) return std::nullopt;  // a change before this one
  uint32_t sequence = 0;
  for (uint32_t i = 0; i < send.index; ++i) {
    if (ir::sends(from.steps[i].step.kind) && from.steps[i].step.send_peer == to) ++sequence;
  }
  for (uint32_t l = 0; l < draft_.ranks[to.value].size(); ++l) {
    const DraftLane& lane = draft_.ranks[to.value][l];
    if (lane.channel != from.channel) continue;
    for (uint32_t i = 0; i < lane.steps.size(); ++i) {
      const ir::Step& step = lane.steps[i].step;
      if (!ir::receives(step.kind) || step.recv_peer.value != send.rank) continue;
      if (sequence-- == 0) return Place{to.value, l, i};
    }
  }
  return std::nullopt;
}

void Mutator::drop_message(Place place) {
  if (at(place).step.kind != StepKind::kSend) return;
  const auto taker = taker_of(place);
  if (!taker) return;
  ir::Step& taken = at(*taker).step;
  erase(place);
  // The other end stays as far as it does more than take the message.
  if (taken.kind == StepKind::kRecvCopySend) {
    taken.kind = StepKind::kSend;
    taken.src_buffer = taken.dst_buffer;
    taken.src_index = taken.dst_index;
  } else if (taken.kind == StepKind::kRecvReduceSend) {
    taken.kind = StepKind::kSend;
  } else if (taken.kind == StepKind::kRecvReduce) {
    taken.kind = StepKind::kCopy;
  } else if (taken.kind == StepKind::kRecv) {
    erase(*taker);
  }
}

void Mutator::double_message(Place place) {
  if (at(place).step.kind != StepKind::kSend) return;
  const auto taker = taker_of(place);
  if (!taker || ir::sends(at(*taker).step.kind)) return;
  for (Place end : {place, *taker}) {
    DraftStep again = at(end);
    again.id = draft_.next_id++;
    insert(end, again);
  }
}

void Mutator::swap_steps(Place place) {
  auto& steps = lane(place).steps;
  if (place.index + 1 < steps.size()) std::swap(steps[place.index], steps[place.index + 1]);
}

void Mutator::change_src(Place place) {
  ir::Step& step = at(place).step;
  const ir::Region region = pick_region(place.rank, step.num_chunks);
  step.src_buffer = region.buffer;
  step.src_index = region.index;
}

void Mutator::change_dst(Place place) {
  ir::Step& step = at(place).step;
  const ir::Region region = pick_region(place.rank, step.num_chunks);
  step.dst_buffer = region.buffer;
  step.dst_index = region.index;
}

// Among kinds with the same peers, so that messages still match.
void Mutator::change_kind(Place place) {
  ir::Step& step = at(place).step;
  const StepKind before = step.kind;
  const auto same_peers = [before](StepKind kind) {
    return ir::sends(kind) == ir::sends(before) && ir::receives(kind) == ir::receives(before);
  };
  std::vector<StepKind> kinds;
  for (int k = 0; k < ir::kNumStepKinds; ++k) {
    const auto kind = static_cast<StepKind>(k);
    if (kind != before && same_peers(kind)) kinds.push_back(kind);
  }
  if (kinds.empty()) return;
  step.kind = kinds[pick(kinds.size())];
  if (ir::reads_src(step.kind) && !ir::reads_src(before)) change_src(place);
  if (ir::writes_dst(step.kind) && !ir::writes_dst(before)) change_dst(place);
}

void Mutator::change_count(Place place) {
  ir::Step& step = at(place).step;
  const uint32_t before = step.num_chunks;
  step.num_chunks = pick(3);
  if (step.kind != StepKind::kSend) return;
  const auto taker = taker_of(place);
  if (taker && at(*taker).step.num_chunks == before) at(*taker).step.num_chunks = step.num_chunks;
}

void Mutator::change_peer(Place place) {
  ir::Step& step = at(place).step;
  const Rank peer{pick(draft_.ranks.size())};
  if (ir::receives(step.kind) && pick(2) == 0) {
    step.recv_peer = peer;
  } else if (ir::sends(step.kind)) {
    std::swap(step.send_peer,
              at({place.rank, place.lane, pick(lane(place).steps.size())}).step.send_peer);
  }
}

void Mutator::drop_dependency(Place place) {
  for (auto& lane : draft_.ranks[place.rank]) {
    for (DraftStep& step : lane.steps) {
      if (step.after.empty() || pick(2) == 0) continue;
      step.after.erase(step.after.begin() + pick(step.after.size()));
      return;
    }
  }
}

void Mutator::add_dependency(Place place) {
  auto& lanes = draft_.ranks[place.rank];
  const DraftLane& other = lanes[pick(lanes.size())];
  if (other.steps.empty()) return;
  at(place).after.push_back(other.steps[pick(other.steps.size())].id);
}

void Mutator::move_step(Place place) {
  auto& lanes = draft_.ranks[place.rank];
  const DraftStep step = at(place);
  erase(place);
  if (ir::sends(step.step.kind) || ir::receives(step.step.kind) || pick(2) == 0) {
    const uint32_t other = pick(lanes.size());
    insert({place.rank, other, pick(lanes[other].steps.size() + 1)}, step);
  } else {
    lanes.push_back({99, {step}});
  }
}

void Mutator::change_scratch(Place place) {
  auto& scratch = draft_.head.ranks[place.rank].scratch;
  if (scratch.empty()) return;
  const bool any = pick(2) == 0 || layout_.num_chunks() == 0;
  scratch[pick(scratch.size())] = any ? ir::kAnyChunk : ChunkId{pick(layout_.num_chunks())};
}

void Mutator::change_head(Place) {
  switch (pick(3)) {
    case 0: draft_.head.slots = pick(4); return;
    case 1: draft_.head.placement = static_cast<ir::Placement>(pick(3)); return;
    case 2: break;
  }
  if (is_rooted(draft_.head.collective.kind)) {
    draft_.head.collective.root = pick(draft_.ranks.size());
  }
}

}  // namespace

Mutant mutate(const ir::Schedule& schedule, std::mt19937_64& random) {
  return Mutator(schedule, random).run();
}

}  // namespace tutti::mutants
