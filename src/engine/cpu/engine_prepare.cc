// How an operation begins and what it leaves behind: memory, greetings, pools.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/try.h"
#include "engine/cpu/engine.h"
#include "engine/cpu/hello.h"
#include "engine/cpu/ports.h"
#include "transport/heap_memory.h"

namespace tutti::engine {
namespace {

using ir::Buffer;

size_t index(Buffer buffer) { return static_cast<size_t>(buffer); }

size_t words_bytes(const BoundProgram& program) {
  return sizeof(Words) + sizeof(uint32_t) * (program.outs.size() + program.ins.size());
}

// The ranks whose data ends up in this rank's output, and which therefore must agree before the
// output is written. Down a tree it is enough that the parent agrees, which agreed with its own.
bool needs_all(const BoundProgram& program) {
  switch (program.collective.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kBarrier: return true;
    case CollectiveKind::kReduce:
    case CollectiveKind::kGather: return program.self.value == program.collective.root;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kScatter:
    case CollectiveKind::kSendRecv: return false;
  }
  return true;
}

// Whether the steps' input lies in their output.
bool is_in_place(const Operation& op) {
  const BoundProgram& program = *op.request.program;
  if (program.input_bytes == 0 || program.output_bytes == 0) return false;
  const std::byte* const in = op.base[index(Buffer::kInput)];
  const std::byte* const out = op.base[index(Buffer::kOutput)];
  return in < out + program.output_bytes && out < in + program.input_bytes;
}

// Of buffers; calls of this size take a millisecond or more.
constexpr uint64_t kLongCallBytes = uint64_t{8} << 20;

bool is_swap(const BoundProgram& program) {
  const Collective& collective = program.collective;
  const bool swaps =
      collective.kind == CollectiveKind::kAllGather || collective.kind == CollectiveKind::kAllToAll;
  return swaps && collective.num_ranks == 2 && program.input_bytes >= kLeastSwapped;
}

// Whether all ranks send and receive alike. Where they do not, what a way costs this rank says
// little of what it costs all of them.
bool is_symmetric(const BoundProgram& program) {
  switch (program.collective.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll: return true;
    case CollectiveKind::kReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
    case CollectiveKind::kBarrier:
    case CollectiveKind::kSendRecv: return false;
  }
  return false;
}

// What is reused for calls of the same kind has the right size already.
template <class T>
void refill(std::vector<T>& list, size_t size, T value) {
  if (list.size() != size) list.resize(size);
  for (T& entry : list) entry = value;
}

}  // namespace

Operation* Engine::new_operation() {
  // A caller may keep its handle for long; then the next one is looked at, and the one after.
  for (int tries = 0; tries < 3 && !retired_.empty(); ++tries) {
    Operation* const op = retired_.front();
    retired_.pop_front();
    // Pairs with the release in Engine::release.
    if (op->is_released.load(std::memory_order_acquire)) return op;
    retired_.push_back(op);
  }
  all_.push_back(std::make_unique<Operation>());
  return all_.back().get();
}

Status Engine::prepare(Operation& op) {
  const BoundProgram& program = *op.request.program;
  op.carriage = travels_in_packets(program) ? Carriage::kPackets : Carriage::kMemory;
  refill(op.cursors, program.lanes.size(), {});
  refill(op.lanes, program.lanes.size(), LaneState::kPreempted);
  refill(op.in_counts, program.ins.size(), 0u);
  refill(op.out_counts, program.outs.size(), 0u);
  op.to_greet.clear();
  op.signatures_missing = 0;
  op.unread.reset();
  op.is_deserted = op.is_abandoned = false;
  op.is_lent = op.is_retired = op.is_queued = false;
  op.is_released.store(false, std::memory_order_relaxed);
  op.num_unheard = 0;
  op.unread_since_ns = 0;
  op.state.store(OperationState::kRunning, std::memory_order_relaxed);
  // The input is only read: a verified schedule writes it only where it is output too.
  op.base[index(Buffer::kInput)] =
      const_cast<std::byte*>(static_cast<const std::byte*>(op.request.input));
  op.base[index(Buffer::kOutput)] = static_cast<std::byte*>(op.request.output);
  if (op.request.finishing.op == Op::kPremulSum) scale_input(op);
  if (op.carriage == Carriage::kPackets) {
    prepare_packets(op);
    return {};
  }
  op.shadow.clear();
  return prepare_memory(op);
}

// A copy: the caller's input stays as it is, and in place it is read before it is written.
void Engine::scale_input(Operation& op) {
  op.scaled.resize(op.request.program->input_bytes);
  scale(op.request.finishing.type, op.scaled.data(), op.request.input,
        op.scaled.size() / op.request.elem_bytes, op.request.finishing.factor);
  op.base[index(Buffer::kInput)] = op.scaled.data();
}

// The shadow makes every call one out of place: the input stays as it is, whether or not the
// caller's buffers are the same, until the output is written at the end.
void Engine::prepare_packets(Operation& op) {
  const BoundProgram& program = *op.request.program;
  endpoint_.wide_slots().forget();
  op.inbox.resize(program.ins.size() * program.most_messages * program.largest_message);
  op.scratch_store.resize(program.scratch_bytes);
  op.shadow.resize(program.output_bytes);
  op.base[index(Buffer::kScratch)] = op.scratch_store.data();
  op.base[index(Buffer::kOutput)] = op.shadow.data();
}

Ways::Turn Engine::way_of(const Operation& op) const {
  const BoundProgram& program = *op.request.program;
  const bool streams = program.largest_buffer >= kStreamBytes;
  Way usual = streams ? Way::kStream : Way::kMirror;
  const bool must_be_mirrored = !program.may_be_in_place && is_in_place(op);
  if (endpoint_.is_one_process() || must_be_mirrored) return {usual};
  if (endpoint_.can_pull() && is_swap(program)) usual = Way::kPull;
  if (program.largest_message < kLeastLearned || !has_cores_ || !is_symmetric(program)) {
    return {usual};
  }
  const auto is_private = [&](Buffer buffer, bool is_read, uint64_t bytes) {
    return is_read && bytes != 0 && !endpoint_.is_shared(op.base[index(buffer)], bytes);
  };
  if (!is_private(Buffer::kInput, program.input_is_read, program.input_bytes) &&
      !is_private(Buffer::kOutput, program.output_is_read, program.output_bytes)) {
    return {usual};
  }
  const bool is_long = program.largest_buffer >= kLongCallBytes;
  program.ways.start(usual, endpoint_.can_pull(), is_long ? Ways::kLittle : Ways::Effort{});
  // Of calls that overlap nobody can say how long each would take.
  const bool is_alone = num_lent_running_ == 0;
  return is_alone ? program.ways.next() : Ways::Turn{program.ways.best()};
}

// What peers read of the caller's own memory is mirrored where they cannot reach it (another
// process, and not allocated by tutti::allocate), and where it is so little that a caller need not
// wait for them.
Status Engine::prepare_mirrors(Operation& op) {
  const BoundProgram& program = *op.request.program;
  op.mirrors = {};
  op.exported.assign(program.exports.size(), 0);
  op.way = way_of(op);
  if (!program.may_be_in_place && is_in_place(op)) {
    mirror_whole_input(op);
  } else if (program.input_is_read) {
    TUTTI_TRY(prepare_mirror(op, Buffer::kInput, program.input_bytes));
  }
  if (program.output_is_read) {
    TUTTI_TRY(prepare_mirror(op, Buffer::kOutput, program.output_bytes));
  }
  const auto is_lent = [&](Buffer buffer, bool is_read, uint64_t bytes) {
    const std::byte* const mirror = op.mirrors[index(buffer)];
    return is_read && bytes != 0 && (mirror == nullptr || !endpoint_.arena().contains(mirror, 0));
  };
  op.is_lent = is_lent(Buffer::kInput, program.input_is_read, program.input_bytes) ||
               is_lent(Buffer::kOutput, program.output_is_read, program.output_bytes);
  return {};
}

// A mirror that there is no room for in the arena is none: peers then pull from the process
// (Endpoint::pull). Where they may not, it is taken from the heap, however large; its caller waits
// for the readers, so that there are no more of them than operations under way.
Status Engine::prepare_mirror(Operation& op, Buffer buffer, uint64_t bytes) {
  const bool is_shared = endpoint_.is_shared(op.base[index(buffer)], bytes);
  const bool is_small =
      bytes <= kStageBytes && (buffer == Buffer::kInput || !endpoint_.is_one_process());
  if (bytes == 0 || (is_shared && !is_small)) return {};
  if (!is_shared && op.way.way == Way::kPull) return {};
  std::byte*& mirror = op.mirrors[index(buffer)];
  const bool fits = bytes <= mirror_bytes_ && endpoint_.arena().used() <= mirror_bytes_ - bytes;
  if (fits) mirror = endpoint_.arena().allocate(bytes);
  if (mirror != nullptr || is_shared || endpoint_.can_pull()) return {};
  TUTTI_ASSIGN(mirror, endpoint_.heap().allocate(bytes));
  return {};
}

// Whoever has a copy of the input, this rank too, can do without the input: in place a schedule for
// calls out of place then serves as well.
void Engine::mirror_whole_input(Operation& op) {
  const BoundProgram& program = *op.request.program;
  std::byte* const copied = endpoint_.arena().allocate(program.input_bytes);
  if (copied == nullptr) return;
  std::byte*& input = op.base[index(Buffer::kInput)];
  copy_to_share(op, copied, input, program.input_bytes);
  input = op.mirrors[index(Buffer::kInput)] = copied;
  for (size_t i = 0; i < program.exports.size(); ++i) {
    const Export& exported = program.exports[i];
    if (exported.buffer == index(Buffer::kInput)) op.exported[i] = exported.bytes;
  }
}

Status Engine::prepare_memory(Operation& op) {
  const BoundProgram& program = *op.request.program;
  transport::Arena& arena = endpoint_.arena();
  op.words = reinterpret_cast<Words*>(endpoint_.words().allocate(words_bytes(program)));
  op.scratch = program.scratch_bytes == 0 ? nullptr : arena.allocate(program.scratch_bytes);
  if (Status status = prepare_mirrors(op); !status) {
    free_memory(op);
    return status;
  }
  const bool is_short = op.words == nullptr ||
                        (program.scratch_bytes != 0 && op.scratch == nullptr) ||
                        (!program.may_be_in_place && is_in_place(op));
  if (is_short) {
    free_memory(op);
    return Error{
        ErrorCode::kOutOfMemory,
        fmt::format("the segment of rank {} is spent: {} bytes are in use by {} operations",
                    endpoint_.self().value, arena.used(), operations_.size())};
  }
  // Readers of the words' last operation look at the counters first and at the id after: the id
  // must change before them. Pairs with the acquire of the counters in MemoryPort; and, for whoever
  // learns from the id alone that the last operation is over here, with that in has_left.
  op.words->operation.store(op.request.id, std::memory_order_release);
  for (size_t i = 0; i < program.outs.size() + program.ins.size(); ++i) {
    op.words->counters[i].store(0, std::memory_order_release);
  }
  op.base[index(Buffer::kScratch)] = op.scratch;
  op.peers.assign(program.peers.size(), {});
  const auto& members = op.request.members;
  const bool all = needs_all(program);
  const uint32_t num_others = program.collective.num_ranks - 1;
  op.signatures_missing = all ? num_others : 0;
  if (all || program.collective.kind == CollectiveKind::kReduce ||
      program.collective.kind == CollectiveKind::kGather) {
    // Whoever needs all must hear from all.
    for (uint32_t r = 0; r < program.collective.num_ranks; ++r) {
      const bool hears = all || r == program.collective.root ||
                         std::binary_search(program.peers.begin(), program.peers.end(), Rank{r});
      if (hears && Rank{r} != program.self) op.to_greet.push_back(members[r]);
    }
  } else {
    for (const Rank peer : program.peers) op.to_greet.push_back(members[peer.value]);
  }
  op.num_unheard = static_cast<uint32_t>(op.to_greet.size());  // who is greeted, greets
  return {};
}

void Engine::free_memory(Operation& op) {
  if (op.carriage != Carriage::kMemory) return;
  const BoundProgram& program = *op.request.program;
  transport::Arena& arena = endpoint_.arena();
  if (op.words != nullptr) {
    // Peers that still look see that this operation is over here.
    op.words->operation.store(0, std::memory_order_release);
    // Of a failed operation they may be reading the memory too, which is written anew from now on:
    // they must see that it is over no later than what is written. Pairs with is_still_there.
    const bool may_be_read =
        op.state.load(std::memory_order_relaxed) == OperationState::kFailed || op.is_abandoned;
    if (may_be_read) std::atomic_thread_fence(std::memory_order_seq_cst);
    endpoint_.words().free(reinterpret_cast<std::byte*>(op.words), words_bytes(program));
  }
  if (op.scratch != nullptr) arena.free(op.scratch, program.scratch_bytes);
  const uint64_t bytes[] = {program.input_bytes, program.output_bytes, 0};
  for (size_t b = 0; b < op.mirrors.size(); ++b) {
    std::byte* const mirror = op.mirrors[b];
    if (mirror == nullptr) continue;
    arena.contains(mirror, 0) ? arena.free(mirror, bytes[b])
                              : endpoint_.heap().free(mirror, bytes[b]);
  }
  op.words = nullptr;
  op.scratch = nullptr;
  op.mirrors = {};
}

// Tells members that the operation was issued, as far as their rings have room.
void Engine::greet(Operation& op) {
  while (!op.to_greet.empty()) {
    const Rank peer = op.to_greet.back();
    transport::RingWriter& ring = endpoint_.to(peer);
    transport::Record* const record = ring.reserve();
    if (record == nullptr) return;
    const auto shown = [&](Buffer buffer, uint64_t bytes) {
      const std::byte* const mirror = op.mirrors[index(buffer)];
      return endpoint_.name(mirror != nullptr ? mirror : op.base[index(buffer)], bytes);
    };
    const BoundProgram& program = *op.request.program;
    const Hello hello{endpoint_.name(op.words),
                      {shown(Buffer::kInput, program.input_bytes),
                       shown(Buffer::kOutput, program.output_bytes), endpoint_.name(op.scratch)}};
    record->header = {op.request.id, op.request.signature, op.stamp, 0, sizeof hello};
    std::memcpy(record->payload.data(), &hello, sizeof hello);
    ring.publish(transport::RecordKind::kHello);
    endpoint_.wake(peer);
    op.to_greet.pop_back();
  }
}

}  // namespace tutti::engine
