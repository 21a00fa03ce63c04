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

void Engine::drain() {
  const Rank self = endpoint_.self();
  for (uint32_t peer = 0; peer < endpoint_.num_ranks(); ++peer) {
    if (Rank{peer} == self) continue;
    transport::RingReader& ring = endpoint_.from(Rank{peer});
    // At most one lap: the sender may be as fast as we are.
    for (uint32_t i = 0; i < transport::kRingSlots; ++i) {
      const auto kind = ring.peek();
      if (!kind) break;
      receive(Rank{peer}, *kind, ring.record());
      if (ring.pop()) endpoint_.wake(Rank{peer});
      moved_ = true;
    }
  }
}

// Where senders are ahead their records wait in the ring, in the order in which this rank comes to
// them. Taken one by one none of them has to be kept.
void Engine::take_next(Operation& op) {
  for (const Rank place : op.request.program->peers) {
    const Rank peer = op.request.members[place.value];
    transport::RingReader& ring = endpoint_.from(peer);
    const auto kind = ring.peek();
    if (!kind || ring.record().header.operation != op.request.id) continue;
    receive(peer, *kind, ring.record());
    if (ring.pop()) endpoint_.wake(peer);
    ring.prefetch();
  }
}

void Engine::receive(Rank from, RecordKind kind, const Record& record) {
  if (kind == RecordKind::kAbort) {
    end_group(record.header.operation, from);
    return;
  }
  Operation* const op = operations_.find(record.header.operation);
  if (op == nullptr) {
    keep(from, kind, record);
    return;
  }
  deliver(*op, from, kind, record);
  if (!op->is_retired) set_aside(*op, op->is_queued ? Need::kTurn : run(*op));
}

void Engine::keep(Rank from, RecordKind kind, const Record& record) {
  EarlyRecord* const kept = new_early_record();
  kept->from = from;
  kept->kind = kind;
  kept->next = nullptr;
  const size_t bytes = std::min<size_t>(record.header.bytes, transport::kMaxPayload);
  std::memcpy(&kept->record, &record, sizeof record.header + bytes);
  ++counts_.early_records;
  Early* early = early_.find(kept->record.header.operation);
  if (early == nullptr) {
    early = new_early();
    early->first = kept;
    early_.insert(kept->record.header.operation, early);
  } else {
    early->last->next = kept;
  }
  early->last = kept;
}

bool Engine::take_early(Operation& op) {
  Early* const early = early_.find(op.request.id);
  if (early == nullptr) return false;
  early_.erase(op.request.id);
  for (EarlyRecord* kept = early->first; kept != nullptr; kept = kept->next) {
    deliver(op, kept->from, kept->kind, kept->record);
    spare_records_.push_back(kept);
  }
  spare_early_.push_back(early);
  return true;
}

void Engine::deliver(Operation& op, Rank from, RecordKind kind, const Record& record) {
  if (op.state.load(std::memory_order_relaxed) == OperationState::kFailed) return;
  if (kind == RecordKind::kFailed) {
    forget_reader(op, from);
    Failure failure;
    std::memcpy(&failure, record.payload.data(), sizeof failure);
    fail_here(op, error_of(op.request, failure, record.header.signature));
    return;
  }
  if (record.header.signature != op.request.signature) {
    forget_reader(op, from);
    fail_everywhere(op, {static_cast<uint32_t>(ErrorCode::kInvalidArgument), endpoint_.self().value,
                         from.value, 0, record.header.signature});
    return;
  }
  if (kind == RecordKind::kPacket && op.carriage == Carriage::kPackets) {
    deliver_packet(op, from, record);
  } else if (kind == RecordKind::kHello && op.carriage == Carriage::kMemory) {
    deliver_hello(op, from, record);
  } else {
    fail_here(op, nonsense_error(op.request, from, "a record of a kind that it cannot send"));
  }
}

void Engine::deliver_packet(Operation& op, Rank from, const Record& record) {
  const BoundProgram& program = *op.request.program;
  const transport::RecordHeader header = record.header;
  const bool exists = header.connection < program.ins.size();
  const bool is_next = exists && header.message == op.in_counts[header.connection] &&
                       header.message < program.ins[header.connection].num_messages &&
                       header.bytes <= program.largest_message;
  const bool is_theirs =
      exists &&
      op.request.members[program.peers[program.ins[header.connection].peer].value] == from;
  if (!is_next || !is_theirs) {
    fail_here(op, nonsense_error(op.request, from, "a packet that is not of this collective"));
    return;
  }
  const PacketPort port(op, endpoint_);
  if (header.bytes != 0) {
    std::memcpy(port.inbox(header.connection, header.message), record.payload.data(), header.bytes);
  }
  ++op.in_counts[header.connection];
}

void Engine::deliver_hello(Operation& op, Rank from, const Record& record) {
  recorder_.heard(op);
  stamps_.hear(op, record.header.message);
  if (op.num_unheard > 0 && --op.num_unheard == 0) queue_.agree(op);
  const BoundProgram& program = *op.request.program;
  if (op.signatures_missing > 0) --op.signatures_missing;
  const auto is_from = [&](Rank peer) { return op.request.members[peer.value] == from; };
  const auto found = std::find_if(program.peers.begin(), program.peers.end(), is_from);
  if (found == program.peers.end()) return;
  const auto i = static_cast<size_t>(found - program.peers.begin());
  PeerSide& peer = op.peers[i];
  Hello hello;
  std::memcpy(&hello, record.payload.data(), sizeof hello);
  const Extent& extent = program.extents[i];
  const auto words =
      endpoint_.reach(from, hello.words, sizeof(Words) + extent.num_words * sizeof(uint32_t));
  const bool in_order = hello.words.space == transport::RemoteAddress::kSegment &&
                        hello.words.value % alignof(Words) == 0;
  if (!words || !in_order) {
    fail_here(op, nonsense_error(op.request, from, "an address that is not its own"));
    return;
  }
  peer.words = reinterpret_cast<const Words*>(*words);
  for (int b = 0; b < ir::kNumBuffers; ++b) {
    peer.buffers[b] = hello.buffers[b];
    if (extent.bytes[b] == 0) continue;
    const auto direct = endpoint_.reach(from, hello.buffers[b], extent.bytes[b]);
    if (!direct) {
      fail_here(op, nonsense_error(op.request, from, "a buffer that is not its own"));
      return;
    }
    peer.direct[b] = *direct;
  }
  peer.is_present = true;
}

void Engine::tell(std::span<const Rank> members, Notice notice) {
  for (const Rank member : members) {
    if (member == endpoint_.self() || !lost_[member.value].empty()) continue;
    notice.to = member;
    if (!tell_one(notice)) untold_.push_back(notice);
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
  tell_failure(op, failure);
  Error error = error_of(op.request, failure, op.request.signature);
  const bool is_loss = error.code == ErrorCode::kPeerLost;
  if (is_loss) error.message += fmt::format(" ({})", lost_[failure.other]);
  fail_here(op, std::move(error));
}

void Engine::tell_failure(const Operation& op, const Failure& failure) {
  tell(op.request.members, {.kind = RecordKind::kFailed,
                            .header = {op.request.id, op.request.signature, 0, 0, sizeof failure},
                            .failure = failure});
}

// The others may have all they need of the rank that cannot be read, and wait for this one.
Engine::Need Engine::fail_unread(Operation& op) {
  const Rank other = op.request.members[op.request.program->peers[op.unread_peer].value];
  tell_failure(
      op, {static_cast<uint32_t>(op.unread->code), endpoint_.self().value, other.value, 0, {}});
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
