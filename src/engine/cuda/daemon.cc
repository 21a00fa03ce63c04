#include "engine/cuda/daemon.h"

#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/try.h"

namespace tutti::engine::cuda {
namespace {

uint64_t bytes_of_mailbox() { return uint64_t{kLetters} * kHelloUnits * sizeof(Unit); }

// A daemon that has left is launched by whoever waits, after so many looks.
constexpr uint32_t kLooksPerCheck = 64;
// Some tens of microseconds: then others may need the core, the device's driver among them.
constexpr uint32_t kLooksAlone = 4096;

}  // namespace

Result<std::vector<std::unique_ptr<Daemon>>> Daemon::create(Device& device, uint32_t num_ranks,
                                                            const DaemonOptions& options) {
  if (num_ranks == 0 || num_ranks > kMostRanks) {
    return Error{ErrorCode::kInvalidArgument, "a device holds 1 to 64 ranks"};
  }
  if (options.num_workers == 0 || options.num_workers >= kMostBlocks) {
    return Error{ErrorCode::kInvalidArgument, "a daemon has 1 to 64 workers"};
  }
  std::vector<std::unique_ptr<Daemon>> daemons;
  std::vector<std::byte*> mailboxes;  // of rank i from rank j
  std::vector<uint32_t*> read;        // how many letters of rank i were read by rank j
  for (uint32_t i = 0; i < num_ranks * num_ranks; ++i) {
    TUTTI_ASSIGN(std::byte* const mailbox, device.allocate(bytes_of_mailbox()));
    TUTTI_ASSIGN(std::byte* const word, device.allocate(sizeof(uint32_t)));
    mailboxes.push_back(mailbox);
    read.push_back(reinterpret_cast<uint32_t*>(word));
  }
  for (uint32_t rank = 0; rank < num_ranks; ++rank) {
    std::unique_ptr<Daemon> daemon(new Daemon(device));
    daemon->rank_ = rank;
    daemon->num_workers_ = options.num_workers;
    const uint64_t ring_bytes = uint64_t{kSubmissions} * kSubmissionUnits * sizeof(Unit);
    TUTTI_ASSIGN(std::byte* const ring, device.allocate_shared(ring_bytes));
    TUTTI_ASSIGN(std::byte* const words, device.allocate_shared(sizeof(HostWords)));
    TUTTI_ASSIGN(std::byte* const memory, device.allocate(sizeof(DaemonState)));
    daemon->submissions_ = reinterpret_cast<Unit*>(ring);
    daemon->host_ = reinterpret_cast<HostWords*>(words);
    daemon->state_ = reinterpret_cast<DaemonState*>(memory);
    auto state = std::make_unique<DaemonState>();
    state->self = rank;
    state->num_ranks = num_ranks;
    state->num_blocks = 1 + options.num_workers;
    state->presence = options.presence;
    state->submissions = daemon->submissions_;
    state->host = daemon->host_;
    for (uint32_t other = 0; other < num_ranks; ++other) {
      Neighbour& neighbour = state->leader.neighbours[other];
      neighbour.mailbox_there = reinterpret_cast<Unit*>(mailboxes[other * num_ranks + rank]);
      neighbour.mailbox_here = reinterpret_cast<Unit*>(mailboxes[rank * num_ranks + other]);
      neighbour.read_there = read[rank * num_ranks + other];
      neighbour.read_by_us = read[other * num_ranks + rank];
    }
    TUTTI_TRY(device.write(memory, state.get(), sizeof *state));
    daemons.push_back(std::move(daemon));
  }
  return daemons;
}

Daemon::~Daemon() { leave(); }

Result<Daemon::Ticket> Daemon::submit(const DeviceRequest& request) {
  if (request.input == request.output && request.input != nullptr &&
      !request.program->may_be_in_place()) {
    return Error{ErrorCode::kInvalidArgument,
                 "this schedule needs an output that is not the input"};
  }
  const std::lock_guard lock(mutex_);
  TUTTI_ASSIGN(const LoadedProgram::Slot slot, request.program->take_slot());
  const Submission submission{
      .operation = request.operation,
      .signature = request.signature,
      .program = request.program->program(),
      .context = slot.context,
      .input = static_cast<std::byte*>(const_cast<void*>(request.input)),
      .output = static_cast<std::byte*>(request.output),
      .stream = request.stream,
      .completion = slot.completion,
      .factor = request.factor,
      .budget_ns = request.budget_ns,
      .stream_value = request.stream_value,
      .unused = 0,
  };
  TUTTI_TRY(write_submission(submission));
  return Ticket{request.program, slot};
}

Status Daemon::write_submission(const Submission& submission) {
  // Liveness: the daemon takes whatever is submitted, and is launched again if it has left.
  while (num_submitted_ - load_relaxed(&host_->num_taken) >= kSubmissions) {
    TUTTI_TRY(launch_if_left());
    std::this_thread::yield();
  }
  Unit* const at = submissions_ + uint64_t{num_submitted_ % kSubmissions} * kSubmissionUnits;
  write_units(at, submission, ++num_submitted_, kSubmissionUnits);
  return launch_if_left();
}

bool Daemon::has_left() const { return load_acquire(&host_->left) == launch_; }

// With the lock. A daemon that leaves now and has not read the last submission is seen to have left
// by whoever waits for it.
Status Daemon::launch_if_left() {
  if (!has_left()) return {};
  ++launch_;
  return device_.launch(state_, rank_, 1 + num_workers_, launch_);
}

bool Daemon::is_over(const Ticket& ticket) {
  // Pairs with the release in complete.
  return load_acquire(&ticket.slot.completion->outcome) !=
         static_cast<uint32_t>(Outcome::kUnderWay);
}

Completion Daemon::wait(const Ticket& ticket, uint64_t limit_ns) {
  uint64_t begin = 0;
  // Liveness: the operation ends when its members have issued it, or at its deadline; meanwhile the
  // daemon is launched as often as it leaves. And at `limit_ns`.
  for (uint32_t i = 1; !is_over(ticket); ++i) {
    if (i % kLooksPerCheck != 0) continue;
    const uint64_t now = base::now_ns();
    if (begin == 0) begin = now;
    if (now - begin > limit_ns) return {};
    if (i > kLooksAlone) std::this_thread::yield();
    const std::lock_guard lock(mutex_);
    if (launch_if_left()) continue;
    Completion lost{};
    lost.outcome = static_cast<uint32_t>(Outcome::kAborted);
    return lost;
  }
  Completion how = *ticket.slot.completion;
  how.outcome &= (1U << kSwitchShift) - 1;
  const std::lock_guard lock(mutex_);
  ++num_ended_;
  // What a peer may still write to is not used again.
  const bool is_clean = how.outcome == static_cast<uint32_t>(Outcome::kDone) ||
                        how.outcome == static_cast<uint32_t>(Outcome::kMismatch);
  if (is_clean) ticket.program->give_back(ticket.slot);
  return how;
}

Result<bool> Daemon::keep_going() {
  const std::lock_guard lock(mutex_);
  if (num_submitted_ == num_ended_ || !has_left()) return false;
  TUTTI_TRY(launch_if_left());
  return true;
}

void Daemon::abort() {
  store_relaxed(&host_->abort, 1);
  const std::lock_guard lock(mutex_);
  store_relaxed(&host_->leave, launch_);
}

void Daemon::leave() {
  uint32_t launch = 0;
  {
    const std::lock_guard lock(mutex_);
    launch = launch_;
    store_relaxed(&host_->leave, launch);
  }
  // Liveness: the leader looks at the word every few rounds.
  while (load_acquire(&host_->left) < launch) std::this_thread::yield();
}

uint32_t Daemon::num_launches() const {
  const std::lock_guard lock(mutex_);
  return launch_;
}

}  // namespace tutti::engine::cuda
