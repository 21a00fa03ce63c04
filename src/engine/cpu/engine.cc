#include "engine/cpu/engine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/ticks.h"
#include "engine/cpu/ports.h"
#include "engine/cpu/signature_text.h"
#include "engine/cpu/turn.h"
#include "engine/cpu/wait.h"

namespace tutti::engine {

namespace {

// On a CPU a look at another operation costs next to nothing, so none that waits is waited for. Of
// one that moves, 2 MiB in a row: what it leaves in the caches is used, and what others wait for is
// done within a millisecond.
constexpr Patience kPatience{.turns = kPreemptAlways ? 1 : 8, .looks = 0};
// That move something, before peers are listened to again.
constexpr uint32_t kTurnsOfAPass = 4;

}  // namespace

Engine::Engine(transport::Endpoint endpoint, uint64_t mirror_bytes)
    : endpoint_(std::move(endpoint)),
      mirror_bytes_(mirror_bytes),
      queue_(kPatience),
      loads_(endpoint_.num_ranks()),
      left_(endpoint_.num_ranks()),
      lost_(endpoint_.num_ranks()),
      has_cores_(WaitPolicy::for_ranks(endpoint_.num_ranks()).spins != 0) {}
Engine::~Engine() = default;

Result<Operation*> Engine::submit(const Request& request) {
  const Turn turn(busy_);
  return begin(request);
}

Result<Operation*> Engine::begin(const Request& request) {
  if (operations_.find(request.id) != nullptr) {
    return Error{ErrorCode::kInvalidArgument, "an operation of this name is under way already"};
  }
  if (const Abort* abort = find_abort(request.group, communicator_of(request))) {
    return abort_error(request, abort->by);
  }
  look_after_read();
  Operation& op = *new_operation();
  op.request = request;
  if (Status status = prepare(op); !status) {
    op.is_released.store(true, std::memory_order_relaxed);
    retired_.push_back(&op);
    return std::move(status.error());
  }
  note(op);
  enlist(op);
  const bool has_heard = take_early(op);
  if (op.num_unheard == 0) queue_.agree(op);
  if (op.carriage == Carriage::kPackets && request.program->waits_first && !has_heard) {
    take_next(op);  // there is nothing to do yet, unless the message is there
  } else {
    set_aside(op, run(op));
  }
  if (!any_lost_) return &op;
  for (const Rank member : request.members) {
    if (!lost_[member.value].empty()) go_on_without(op, member);
  }
  return &op;
}

// Of one that was just prepared.
void Engine::note(Operation& op) {
  queue_.start(op, op.request.id, stamps_.issue());
  op.name.assign(op.request.name);
  recorder_.issued(op);
}

// It is under way from now on.
void Engine::enlist(Operation& op) {
  op.request.program->uses.begin();
  ++num_enlisted_;
  operations_.insert(op.request.id, &op);
  op.is_waited.store(false, std::memory_order_relaxed);
  op.trace = op.carriage == Carriage::kMemory ? step_trace_.get() : nullptr;
  if (op.trace != nullptr) op.lane_times.assign(op.lanes.size(), {});
  if (op.carriage != Carriage::kMemory) return;
  op.lent_number = ++num_lent_;
  ++num_lent_running_;
}

EngineCounts Engine::counts() const {
  EngineCounts counts = counts_;
  counts.switches = queue_.switches();
  return counts;
}

bool Engine::is_idle() {
  const Turn turn(busy_);
  return operations_.size() == 0 && untold_.empty();
}

void Engine::start_trace() {
  const Turn turn(busy_);
  recorder_ = FlightRecorder(FlightRecorder::kTracedRecords);
  step_trace_ = std::make_unique<StepTrace>(endpoint_.self());
}

void Engine::inspect(const Look& look) {
  const Turn turn(busy_);
  look(operations_, recorder_);
}

bool Engine::progress(Operation* wanted) {
  const Turn turn(busy_);
  turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  moved_ = false;
  drain(Drain::kWanted);
  if (!untold_.empty()) tell_rest();
  look_after_read();
  queue_.want(wanted);
  // All have been looked at when as many looks in a row were in vain; one more, since the first may
  // have been out of turn.
  uint32_t looks = queue_.size() + 1;
  for (uint32_t turns = 0; turns < kTurnsOfAPass && looks > 0 && queue_.size() > 0;) {
    const uint64_t completed = counts_.completed;
    take_turn() ? ++turns : --looks;
    if (counts_.completed != completed) break;
  }
  return moved_;
}

// Of the operation whose turn it is. Whether it moved.
bool Engine::take_turn() {
  auto& op = static_cast<Operation&>(*queue_.next());
  const uint64_t looks = counts_.looks;
  if (const Need need = run(op); need != Need::kTurn) {
    queue_.remove(op);
    op.is_queued = false;
    set_aside(op, need);
  }
  return counts_.looks == looks;
}

// After a record came for an operation, or when it begins.
void Engine::set_aside(Operation& op, Need need) {
  if (op.is_queued) return;
  if (need == Need::kNothing) {
    retire(op);
  } else if (need == Need::kTurn) {
    op.is_queued = true;
    queue_.add(op);
  } else if (need == Need::kReaders) {
    op.is_queued = true;
    read_.push_back(&op);
  }
}

// A rank that sends and need not wait may be many operations ahead of its readers. Looking at all
// of them in every turn would cost more than sending, so it looks from the oldest on until two in a
// row are still read.
void Engine::look_after_read() {
  if (read_.empty()) return;
  for (size_t left = read_.size(), misses = 0; left > 0 && misses < 2; --left) {
    Operation& op = *read_.front();
    read_.pop_front();
    op.is_queued = false;
    const Need need = finish_up<MemoryPort>(op);
    misses = need == Need::kNothing ? 0 : misses + 1;
    set_aside(op, need);
  }
}

Engine::Need Engine::run(Operation& op) {
  const bool moved_before = std::exchange(moved_, false);
  const Need need = go_on(op);
  queue_.ran(op, moved_);
  if (op.state.load(std::memory_order_relaxed) != OperationState::kRunning) queue_.end(op);
  if (!moved_) ++counts_.looks;
  moved_ |= moved_before;
  return need;
}

Engine::Need Engine::go_on(Operation& op) {
  if (op.state.load(std::memory_order_relaxed) == OperationState::kFailed) return Need::kNothing;
  if (op.is_deserted) return Need::kRecord;
  if (op.trace != nullptr) return run_lanes<TracedMemoryPort>(op);
  return op.carriage == Carriage::kPackets ? run_lanes<PacketPort>(op) : run_lanes<MemoryPort>(op);
}

template <class Port>
Engine::Need Engine::run_lanes(Operation& op) {
  Port port(op, endpoint_);
  const ProgramView program = op.request.program->view();
  const Lane<Port> at{&program, op.cursors.data(), &port};
  greet(op);
  bool wants_turn = !op.to_greet.empty();
  bool all_done = true;
  bool again = true;
  while (again) {
    again = false;
    for (uint32_t lane = 0; lane < program.num_lanes; ++lane) {
      if (op.lanes[lane] == LaneState::kDone) continue;
      const Cursor before = op.cursors[lane];
      op.lanes[lane] = run_lane(at, lane);
      const Cursor& after = op.cursors[lane];
      const bool moved =
          after.step != before.step || after.bytes != before.bytes || after.piece != before.piece;
      moved_ |= moved;
      // Another lane may have waited for this one.
      again |= after.step != before.step && program.num_lanes > 1;
    }
    if (kPreemptAlways) break;
  }
  wants_turn |= again;
  for (uint32_t lane = 0; lane < program.num_lanes; ++lane) {
    all_done &= op.lanes[lane] == LaneState::kDone;
    wants_turn |= port.wants_turn(op.lanes[lane], lane);
  }
  if (op.unread) return fail_unread(op);
  if (op.is_deserted) return Need::kRecord;
  if (op.state.load(std::memory_order_relaxed) == OperationState::kFailed) return Need::kNothing;
  if (all_done && op.to_greet.empty()) return finish_up<Port>(op);
  return wants_turn ? Need::kTurn : Need::kRecord;
}

// All steps have run. The caller may go when nobody will read its buffers any more, and the
// operation is over when nobody will read its own.
template <class Port>
Engine::Need Engine::finish_up(Operation& op) {
  const Port port(op, endpoint_);
  const BoundProgram& program = *op.request.program;
  size_t num_left = 0;
  for (uint32_t out = 0; out < program.outs.size(); ++out) {
    if (!port.taken(static_cast<uint16_t>(out), program.outs[out].num_messages - 1)) ++num_left;
  }
  const bool is_running = op.state.load(std::memory_order_relaxed) == OperationState::kRunning;
  const bool caller_waits =
      is_running && num_left != 0 &&
      (op.carriage == Carriage::kPackets || op.is_lent || !may_run_ahead(op, num_left));
  if (!caller_waits) complete(op);
  if (num_left == 0) return Need::kNothing;
  return caller_waits ? Need::kTurn : Need::kReaders;
}

// Whether the caller of an operation whose mirrors some have still to read may go. When one of
// several readers has lost its core, the others need not be held up by it; but who receives too
// would soon wait for it anyway, and had better stay where its caches are warm.
bool Engine::may_run_ahead(Operation& op, size_t num_left) {
  const size_t kept = endpoint_.arena().used();
  if (kept <= kAheadBytes) {
    is_reader_away_ = false;
    return true;
  }
  if (kept > kFarAheadBytes) return false;
  const BoundProgram& program = *op.request.program;
  const bool holds_up_others = program.ins.empty() && num_left < program.outs.size();
  if (is_reader_away_ || !holds_up_others) return is_reader_away_;
  const uint64_t now = base::now_ns();
  if (op.unread_since_ns == 0) op.unread_since_ns = now;
  is_reader_away_ = now - op.unread_since_ns >= kReaderPatienceNs;
  return is_reader_away_;
}

void Engine::complete(Operation& op) {
  if (op.state.load(std::memory_order_relaxed) != OperationState::kRunning) return;
  const BoundProgram& program = *op.request.program;
  if (!op.shadow.empty()) std::memcpy(op.request.output, op.shadow.data(), op.shadow.size());
  if (op.request.finishing.op == Op::kAvg && program.output_bytes != 0) {
    divide(op.request.finishing.type, op.request.output,
           program.output_bytes / op.request.elem_bytes, program.collective.num_ranks);
  }
  ++counts_.completed;
  counts_.most_switches = std::max<uint64_t>(counts_.most_switches, op.switches);
  moved_ = true;
  recorder_.ended(op, Outcome::kDone);
  end_lent(op, base::ticks() - op.issued);
  op.state.store(OperationState::kDone, std::memory_order_release);
  endpoint_.wake(endpoint_.self());
}

// An operation with memory for messages is done or has failed.
void Engine::end_lent(const Operation& op, uint64_t ticks) {
  if (op.carriage != Carriage::kMemory) return;
  --num_lent_running_;
  const bool was_alone = op.lent_number == num_lent_;
  if (op.way.is_trial) op.request.program->ways.took(was_alone ? ticks : Ways::kUnknown);
}

void Engine::retire(Operation& op) {
  if (op.is_retired) return;
  op.is_retired = true;
  queue_.end(op);
  recorder_.ended(op, Outcome::kFailed);  // unless it was done before
  if (op.state.load(std::memory_order_relaxed) == OperationState::kFailed) {
    failed_.add(op.request.id);
  }
  operations_.erase(op.request.id);
  free_memory(op);
  op.request.program->uses.end();
  retired_.push_back(&op);
}

void Engine::give_up(Operation* op, ErrorCode code) {
  const Turn turn(busy_);
  if (op->state.load(std::memory_order_relaxed) != OperationState::kRunning) return;
  fail_everywhere(*op, {static_cast<uint32_t>(code), endpoint_.self().value, 0, 0, {}});
}

void Engine::abort(uint64_t group, std::span<const Rank> members) {
  const Turn turn(busy_);
  if (find_abort(group, members) != nullptr) return;
  end_group(group, endpoint_.self());
  tell(members, {.kind = transport::RecordKind::kAbort, .header = {group, {}, 0, 0, 0}});
}

Rank Engine::aborter_of(uint64_t group, std::span<const Rank> members) {
  const Turn turn(busy_);
  const Abort* const abort = find_abort(group, members);
  return abort == nullptr ? kNoRank : abort->by;
}

void Engine::lose(Rank rank, std::string why) {
  const Turn turn(busy_);
  lose_rank(rank, std::move(why));
}

void Engine::lose_rank(Rank rank, std::string why) {
  if (!lost_[rank.value].empty()) return;
  lost_[rank.value] = std::move(why);
  any_lost_ = true;
  endpoint_.to(rank).close();
  drain(Drain::kAll);  // what it said before it went still counts
  std::vector<Operation*> concerned;
  operations_.for_each([&](Operation& op) {
    const auto& members = op.request.members;
    if (std::find(members.begin(), members.end(), rank) != members.end()) concerned.push_back(&op);
  });
  for (Operation* const op : concerned) go_on_without(*op, rank);
}

// The rank will take nothing more of the operation, and read nothing of it.
void Engine::forget_reader(Operation& op, Rank reader) {
  const BoundProgram& program = *op.request.program;
  for (size_t out = 0; out < program.outs.size(); ++out) {
    const Rank peer = op.request.members[program.peers[program.outs[out].peer].value];
    if (peer == reader) op.out_counts[out] = program.outs[out].num_messages;
  }
}

// Of an operation that is done here and has failed elsewhere: who has not read it yet will hear of
// that, and may never issue it.
void Engine::forget_readers(Operation& op) {
  const BoundProgram& program = *op.request.program;
  for (size_t out = 0; out < program.outs.size(); ++out) {
    op.out_counts[out] = program.outs[out].num_messages;
  }
  op.is_abandoned = true;
}

// An operation that has all it needs of a lost rank completes; any other fails on all ranks, since
// some may wait for this one only.
void Engine::go_on_without(Operation& op, Rank lost) {
  if (op.is_retired) return;
  const BoundProgram& program = *op.request.program;
  const auto is_lost = [&](uint32_t peer) {
    return op.request.members[program.peers[peer].value] == lost;
  };
  forget_reader(op, lost);
  if (!op.is_queued) set_aside(op, run(op));
  if (op.is_retired || op.state.load(std::memory_order_relaxed) != OperationState::kRunning) return;
  bool needs_it = op.signatures_missing > 0 || op.is_deserted;
  const MemoryPort memory(op, endpoint_);
  for (uint32_t in = 0; in < program.ins.size(); ++in) {
    const uint32_t last = program.ins[in].num_messages - 1;
    const bool has_all = op.carriage == Carriage::kPackets
                             ? op.in_counts[in] > last
                             : memory.arrived(static_cast<uint16_t>(in), last);
    needs_it |= is_lost(program.ins[in].peer) && !has_all;
  }
  if (!needs_it) return;
  fail_everywhere(
      op, {static_cast<uint32_t>(ErrorCode::kPeerLost), endpoint_.self().value, lost.value, 0, {}});
}

void Engine::fail_here(Operation& op, Error error) {
  if (op.state.load(std::memory_order_relaxed) != OperationState::kRunning) return;
  end_lent(op, Ways::kUnknown);
  op.error = std::move(error);
  op.state.store(OperationState::kFailed, std::memory_order_release);
  moved_ = true;
  // In the queue it is retired at its turn.
  if (!op.is_queued) retire(op);
  endpoint_.wake(endpoint_.self());
}

}  // namespace tutti::engine
