// What comes through the rings: taken out as soon as the engine runs, handed to its operation, or
// kept for one that this rank has not issued yet.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/cpu/engine.h"
#include "engine/cpu/hello.h"
#include "engine/cpu/ports.h"
#include "engine/cpu/signature_text.h"

namespace tutti::engine {

using transport::Record;
using transport::RecordKind;

// Whether a record has to be taken now: it is for an operation under way here, or word of an end.
bool Engine::is_wanted(RecordKind kind, uint64_t operation) const {
  const bool waits_for_call =
      kind == RecordKind::kPacket || kind == RecordKind::kWide || kind == RecordKind::kHello;
  return !waits_for_call || operations_.find(operation) != nullptr;
}

// How many records of a peer's ring to take: up to the last one that is wanted. What is behind it
// is for operations that this rank has not issued, and stays where the calls will find it. But
// where nothing is wanted, half of the ring is the peer's: it may wait for room.
uint32_t Engine::num_to_take(const transport::RingReader& ring, Left& left) const {
  const uint64_t front = ring.position();
  const bool is_known = left.num_enlisted == num_enlisted_ && left.end >= front;
  if (!is_known) left = {num_enlisted_, front, ring.num_wide()};
  uint32_t num_to_take = 0;
  for (; left.end - front < transport::kRingSlots; ++left.end) {
    const auto behind = static_cast<uint32_t>(left.end - front);
    const auto kind = ring.peek(behind);
    if (!kind) break;
    if (*kind == RecordKind::kWide) ++left.num_wide;
    if (is_wanted(*kind, ring.record(behind).header.operation)) num_to_take = behind + 1;
  }
  if (num_to_take != 0) return num_to_take;
  const auto num_left = static_cast<uint32_t>(left.end - front);
  if (left.num_wide - ring.num_wide() >= transport::kWideSlots / 2) return num_left;
  return num_left - std::min(num_left, transport::kRingSlots / 2 - 1);
}

void Engine::drain(Drain what) {
  const Rank self = endpoint_.self();
  for (uint32_t peer = 0; peer < endpoint_.num_ranks(); ++peer) {
    if (Rank{peer} == self || !loads_[peer].madness.empty()) continue;
    transport::RingReader& ring = endpoint_.from(Rank{peer});
    // At most one lap: the sender may be as fast as we are.
    const uint32_t most =
        what == Drain::kAll ? transport::kRingSlots : num_to_take(ring, left_[peer]);
    for (uint32_t i = 0; i < most; ++i) {
      const auto kind = ring.peek();
      if (!kind) break;
      receive(Rank{peer}, {*kind, ring.record().header, ring.payload(*kind)});
      if (ring.pop(*kind)) endpoint_.wake(Rank{peer});
      moved_ = true;
    }
    if (!loads_[peer].madness.empty()) lose_rank(Rank{peer}, loads_[peer].madness);
  }
}

// Where senders are ahead their records wait in the ring, in the order in which this rank comes to
// them. Taken one by one none of them has to be kept.
void Engine::take_next(Operation& op) {
  for (const Rank place : op.request.program->peers) {
    const Rank peer = op.request.members[place.value];
    transport::RingReader& ring = endpoint_.from(peer);
    const auto kind = ring.peek();
    const bool is_for_it = kind && loads_[peer.value].madness.empty() &&
                           ring.record().header.operation == op.request.id;
    if (!is_for_it) continue;
    receive(peer, {*kind, ring.record().header, ring.payload(*kind)});
    if (ring.pop(*kind)) endpoint_.wake(peer);
    ring.prefetch();
  }
}

void Engine::receive(Rank from, const Word& word) {
  if (word.kind == RecordKind::kAbort) {
    end_group(word.header.operation, from);
    return;
  }
  Operation* const op = operations_.find(word.header.operation);
  if (op == nullptr) {
    keep(from, word);
    return;
  }
  deliver(*op, from, word);
  if (!op->is_retired) set_aside(*op, op->is_queued ? Need::kTurn : run(*op));
}

void Engine::keep(Rank from, const Word& word) {
  // It has failed here, and others did not know yet.
  if (failed_.has(word.header.operation)) return;
  const size_t bytes = std::min<size_t>(word.header.bytes, transport::most_payload(word.kind));
  Load& load = loads_[from.value];
  if (load.early_records >= kMostEarlyRecords) {
    load.madness = fmt::format("it has sent {} records for operations that were not issued here",
                               kMostEarlyRecords);
    return;
  }
  EarlyRecord* const kept = new_early_record();
  kept->from = from;
  kept->kind = word.kind;
  kept->next = nullptr;
  kept->header = word.header;
  if (bytes > transport::kMaxPayload) kept->wide.reset(new std::byte[bytes]);
  if (bytes != 0) std::memcpy(kept->payload(), word.payload, bytes);
  load.early_records += kept->weight();
  endpoint_.from(from).say_kept(load.early_records);
  ++counts_.early_records;
  Early* early = early_.find(word.header.operation);
  if (early == nullptr) {
    early = new_early();
    early->first = kept;
    early_.insert(word.header.operation, early);
  } else {
    early->last->next = kept;
  }
  early->last = kept;
  if (word.kind != RecordKind::kFailed) return;
  if (const auto gone = failed_elsewhere_.add(word.header.operation)) forget_early(*gone);
}

// The operation was issued after all, or it was not and is forgotten.
void Engine::spare(Early* early) {
  for (EarlyRecord* kept = early->first; kept != nullptr; kept = kept->next) {
    Load& load = loads_[kept->from.value];
    const bool was_far_behind = load.early_records > transport::kFarAhead;
    load.early_records -= kept->weight();
    endpoint_.from(kept->from).say_kept(load.early_records);
    if (was_far_behind && load.early_records <= transport::kFarAhead) endpoint_.wake(kept->from);
    kept->wide.reset();
    spare_records_.push_back(kept);
  }
  spare_early_.push_back(early);
}

void Engine::forget_early(uint64_t id) {
  Early* const early = early_.find(id);
  if (early == nullptr) return;
  early_.erase(id);
  spare(early);
}

bool Engine::take_early(Operation& op) {
  Early* const early = early_.find(op.request.id);
  if (early == nullptr) return false;
  early_.erase(op.request.id);
  for (EarlyRecord* kept = early->first; kept != nullptr; kept = kept->next) {
    deliver(op, kept->from, {kept->kind, kept->header, kept->payload()});
  }
  spare(early);
  return true;
}

// Whatever the record says, only members have a say in an operation.
void Engine::deliver(Operation& op, Rank from, const Word& word) {
  if (op.state.load(std::memory_order_relaxed) == OperationState::kFailed) return;
  if (word.kind == RecordKind::kFailed) {
    if (!is_among(op.request.members, from)) return;
    if (op.state.load(std::memory_order_relaxed) == OperationState::kDone) {
      return forget_readers(op);
    }
    Failure failure;
    std::memcpy(&failure, word.payload, sizeof failure);
    // Who was not greeted would wait for this rank, should it not have heard.
    tell_failure(op, op.to_greet, failure);
    fail_here(op, error_of(op.request, failure, word.header.signature));
    return;
  }
  const transport::Signature signature = word.header.signature;
  if (signature != op.request.signature) {
    if (!is_among(op.request.members, from)) return;
    forget_reader(op, from);
    fail_everywhere(op, {static_cast<uint32_t>(ErrorCode::kInvalidArgument), endpoint_.self().value,
                         from.value, 0, signature});
    return;
  }
  const bool is_packet = word.kind == RecordKind::kPacket || word.kind == RecordKind::kWide;
  if (is_packet && op.carriage == Carriage::kPackets) {
    deliver_packet(op, from, word);
  } else if (word.kind == RecordKind::kHello && op.carriage == Carriage::kMemory) {
    deliver_hello(op, from, word);
  } else {
    refuse(op, from, "a record of a kind that it cannot send");
  }
}

// The others hear of it: they may have all they need of the mad rank, and wait for this one.
void Engine::refuse(Operation& op, Rank from, std::string_view what) {
  if (!is_among(op.request.members, from)) return;
  if (op.state.load(std::memory_order_relaxed) != OperationState::kRunning) return;
  const auto code = static_cast<uint32_t>(ErrorCode::kMalformed);
  tell_failure(op, op.request.members, {code, endpoint_.self().value, from.value, 0, {}});
  fail_here(op, nonsense_error(op.request, from, what));
}

void Engine::deliver_packet(Operation& op, Rank from, const Word& word) {
  const BoundProgram& program = *op.request.program;
  const transport::RecordHeader& header = word.header;
  const bool exists = header.connection < program.ins.size();
  const bool is_next = exists && header.message == op.in_counts[header.connection] &&
                       header.message < program.ins[header.connection].num_messages &&
                       header.bytes <= program.largest_message &&
                       header.bytes <= transport::most_payload(word.kind);
  const bool is_theirs =
      exists &&
      op.request.members[program.peers[program.ins[header.connection].peer].value] == from;
  if (!is_next || !is_theirs) {
    refuse(op, from, "a packet that is not of this collective");
    return;
  }
  const PacketPort port(op, endpoint_);
  if (header.bytes != 0) {
    std::memcpy(port.inbox(header.connection, header.message), word.payload, header.bytes);
  }
  ++op.in_counts[header.connection];
}

// Another member has issued the operation, as it should be.
void Engine::count_greeting(Operation& op, uint32_t stamp) {
  stamps_.hear(op, stamp);
  if (op.num_unheard > 0 && --op.num_unheard == 0) queue_.agree(op);
  if (op.signatures_missing > 0) --op.signatures_missing;
}

void Engine::deliver_hello(Operation& op, Rank from, const Word& word) {
  const BoundProgram& program = *op.request.program;
  const auto is_from = [&](Rank peer) { return op.request.members[peer.value] == from; };
  const auto found = std::find_if(program.peers.begin(), program.peers.end(), is_from);
  if (found == program.peers.end()) {
    if (is_among(op.request.members, from)) count_greeting(op, word.header.message);
    return;
  }
  const auto i = static_cast<size_t>(found - program.peers.begin());
  PeerSide& peer = op.peers[i];
  if (peer.is_present) return refuse(op, from, "two greetings");
  recorder_.heard(op);
  count_greeting(op, word.header.message);
  Hello hello;
  std::memcpy(&hello, word.payload, sizeof hello);
  const Extent& extent = program.extents[i];
  const auto words =
      endpoint_.reach(from, hello.words, sizeof(Words) + extent.num_words * sizeof(uint32_t));
  const bool in_order = hello.words.space == transport::RemoteAddress::kSegment &&
                        hello.words.value % alignof(Words) == 0;
  if (!words || !in_order) return refuse(op, from, "an address that is not its own");
  peer.words = reinterpret_cast<const Words*>(*words);
  for (int b = 0; b < ir::kNumBuffers; ++b) {
    peer.buffers[b] = hello.buffers[b];
    if (extent.bytes[b] == 0) continue;
    const auto direct = endpoint_.reach(from, hello.buffers[b], extent.bytes[b]);
    // Elements are read where they lie.
    const bool is_aligned = hello.buffers[b].space == transport::RemoteAddress::kPrivate ||
                            hello.buffers[b].value % op.request.elem_bytes == 0;
    if (!direct || !is_aligned) return refuse(op, from, "a buffer that is not its own");
    peer.direct[b] = *direct;
  }
  peer.is_present = true;
}

void Engine::tell(std::span<const Rank> members, Notice notice) {
  for (const Rank member : members) {
    if (member == endpoint_.self() || !lost_[member.value].empty()) continue;
    notice.to = member;
    if (!tell_one(notice) && untold_.size() < kMostUntold) untold_.push_back(notice);
  }
}

bool Engine::tell_one(const Notice& notice) {
  transport::RingWriter& ring = endpoint_.to(notice.to);
  Record* const record = ring.reserve();
  if (record == nullptr) return false;
  record->header = notice.header;
  if (notice.header.bytes != 0) {
    std::memcpy(record->payload.data(), &notice.failure, sizeof notice.failure);
  }
  ring.publish(notice.kind);
  endpoint_.wake(notice.to);
  return true;
}

void Engine::tell_rest() {
  std::erase_if(untold_, [&](const Notice& notice) { return tell_one(notice); });
}

// Tells every member, then fails here.
void Engine::fail_everywhere(Operation& op, const Failure& failure) {
  tell_failure(op, op.request.members, failure);
  Error error = error_of(op.request, failure, op.request.signature);
  const bool is_loss = error.code == ErrorCode::kPeerLost;
  if (is_loss) error.message += fmt::format(" ({})", lost_[failure.other]);
  fail_here(op, std::move(error));
}

void Engine::tell_failure(const Operation& op, std::span<const Rank> members,
                          const Failure& failure) {
  tell(members, {.kind = RecordKind::kFailed,
                 .header = {op.request.id, op.request.signature, 0, 0, sizeof failure},
                 .failure = failure});
}

// The others may have all they need of the rank that cannot be read, and wait for this one.
Engine::Need Engine::fail_unread(Operation& op) {
  const Rank other = op.request.members[op.request.program->peers[op.unread_peer].value];
  tell_failure(
      op, op.request.members,
      {static_cast<uint32_t>(op.unread->code), endpoint_.self().value, other.value, 0, {}});
  fail_here(op, *std::exchange(op.unread, std::nullopt));
  return Need::kNothing;
}

Engine::EarlyRecord* Engine::new_early_record() {
  if (spare_records_.empty()) {
    all_records_.push_back(std::make_unique<EarlyRecord>());
    return all_records_.back().get();
  }
  EarlyRecord* const record = spare_records_.back();
  spare_records_.pop_back();
  return record;
}

Engine::Early* Engine::new_early() {
  if (spare_early_.empty()) {
    all_early_.push_back(std::make_unique<Early>());
    return all_early_.back().get();
  }
  Early* const early = spare_early_.back();
  spare_early_.pop_back();
  *early = {};
  return early;
}

}  // namespace tutti::engine
