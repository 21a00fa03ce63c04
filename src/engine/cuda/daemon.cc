#include "engine/cuda/daemon.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/try.h"

namespace tutti::engine::cuda {
namespace {

// A daemon that has left is launched by whoever waits, after so many looks.
constexpr uint32_t kLooksPerCheck = 64;
// Some tens of microseconds: then others may need the core, the device's driver among them.
constexpr uint32_t kLooksAlone = 4096;
// A question to the driver, which takes a microsecond.
constexpr uint64_t kBetweenQuestionsNs = 5'000'000;

// A completion has a line of its own.
constexpr uint64_t kCompletionAlign = 64;
static_assert(sizeof(Completion) <= kCompletionAlign);
// The smallest home is some 2 KiB.
constexpr uint64_t kHomesPerCompletion = 32;

Neighbour neighbour_of(Front& here, uint32_t door_here, Front& there, uint32_t door_there) {
  Neighbour out{};
  out.mailbox_here = here.doors[door_here].letters;
  out.mailbox_there = there.doors[door_there].letters;
  out.read_there = &here.doors[door_here].num_read;
  out.read_by_us = &there.doors[door_there].num_read;
  return out;
}

Submission submission_of(const DeviceRequest& request, const LoadedProgram::Slot& slot) {
  const auto there_of = [](uint64_t told, const void* here) {
    return told != 0 ? told : reinterpret_cast<uint64_t>(here);
  };
  return {
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
      .group = request.group,
      .context_there = slot.context_there,
      .input_there = there_of(request.input_there, request.input),
      .output_there = there_of(request.output_there, request.output),
      .program_number = request.program->number(),
      .num_triggers = 0,
      .prepared = nullptr,
      .is_broken = 0,
      .unused = 0,
  };
}

}  // namespace

Daemon::Daemon(Device& device, uint32_t number, const DaemonOptions& options, const Places& places)
    : device_(device),
      state_(places.state),
      submissions_(places.submissions),
      host_(places.host),
      number_(number),
      num_workers_(options.num_workers),
      front_(places.front),
      exports_(device, *places.front),
      memory_{{device, {.slab_bytes = options.reserved_bytes / 4}},
              {device,
               {.kind = MemoryPool::Kind::kShared,
                .slab_bytes = options.reserved_bytes / kHomesPerCompletion,
                .align = kCompletionAlign}}},
      staging_(device, {}),
      staging_bytes_(options.staging_bytes),
      imports_(device),
      mapper_(imports_),
      preparations_(device, state_, host_) {}

Result<std::unique_ptr<Daemon>> Daemon::create(Device& device, uint32_t number,
                                               const DaemonOptions& options) {
  if (options.num_workers == 0 || options.num_workers >= kMostBlocks) {
    return Error{ErrorCode::kInvalidArgument, "a daemon has 1 to 64 workers"};
  }
  TUTTI_TRY(device.expect_daemon(number));
  const uint64_t ring_bytes = uint64_t{kSubmissions} * kSubmissionUnits * sizeof(Unit);
  TUTTI_ASSIGN(std::byte* const front, device.allocate(sizeof(Front)));
  TUTTI_ASSIGN(std::byte* const ring, device.allocate_shared(ring_bytes));
  TUTTI_ASSIGN(std::byte* const words, device.allocate_shared(sizeof(HostWords)));
  TUTTI_ASSIGN(std::byte* const memory, device.allocate(sizeof(DaemonState)));
  const Places places{reinterpret_cast<DaemonState*>(memory), reinterpret_cast<Unit*>(ring),
                      reinterpret_cast<HostWords*>(words), reinterpret_cast<Front*>(front)};
  std::unique_ptr<Daemon> daemon(new Daemon(device, number, options, places));
  if (options.reserved_bytes != 0) {
    TUTTI_TRY(daemon->memory_.device.reserve(options.reserved_bytes));
    TUTTI_TRY(daemon->memory_.shared.reserve(options.reserved_bytes / kHomesPerCompletion));
  }
  auto state = std::make_unique<DaemonState>();
  state->num_ranks = 1;
  state->num_blocks = 1 + options.num_workers;
  state->presence = options.presence;
  state->submissions = daemon->submissions_;
  state->host = daemon->host_;
  // All below the last one met are looked at. Who was not met yet may write to its door already,
  // and is not to be heard before; so until then the daemon looks at its own door, where nobody is.
  for (Neighbour& unmet : state->leader.neighbours) {
    unmet = neighbour_of(*daemon->front_, 0, *daemon->front_, 0);
  }
  TUTTI_TRY(device.write(memory, state.get(), sizeof *state));
  return daemon;
}

Result<std::vector<std::unique_ptr<Daemon>>> Daemon::create_all(Device& device, uint32_t num_ranks,
                                                                const DaemonOptions& options) {
  if (num_ranks == 0 || num_ranks > kMostRanks) {
    return Error{ErrorCode::kInvalidArgument, "a device holds 1 to 64 ranks"};
  }
  std::vector<std::unique_ptr<Daemon>> daemons;
  for (uint32_t rank = 0; rank < num_ranks; ++rank) {
    TUTTI_ASSIGN(auto daemon, create(device, rank, options));
    TUTTI_TRY(daemon->write_state(&daemon->state_->self, rank));
    daemons.push_back(std::move(daemon));
  }
  for (uint32_t rank = 0; rank < num_ranks; ++rank) {
    for (uint32_t other = 0; other < num_ranks; ++other) {
      TUTTI_TRY(daemons[rank]->meet(other, {daemons[other]->front_, rank}));
    }
  }
  return daemons;
}

Daemon::~Daemon() { leave(); }

template <class T>
Status Daemon::write_state(const T* field, const T& value) {
  auto* const at = reinterpret_cast<std::byte*>(const_cast<T*>(field));
  return device_.write(at, &value, sizeof value);
}

Result<uint32_t> Daemon::expect_neighbour() {
  const std::lock_guard lock(mutex_);
  if (num_neighbours_ == kMostRanks) {
    return Error{ErrorCode::kUnsupported, "a rank has at most 63 others that it ever meets"};
  }
  return num_neighbours_++;
}

Result<uint32_t> Daemon::open() {
  const std::lock_guard lock(opening_);
  if (num_own_regions_ != 0) return num_own_regions_;
  if (staging_bytes_ != 0) TUTTI_TRY(staging_.reserve(staging_bytes_));
  TUTTI_TRY(exports_.address_of(front_));
  for (const MemoryPool* const pool : {&memory_.device, &staging_}) {
    for (const std::byte* const slab : pool->slabs()) TUTTI_TRY(exports_.address_of(slab));
  }
  num_own_regions_ = exports_.num_regions();
  return num_own_regions_;
}

Status Daemon::meet(uint32_t neighbour, const Acquaintance& other) {
  uint32_t num_known = 0;
  if (!other.is_near) {
    TUTTI_ASSIGN(num_known, open());
  }
  const std::lock_guard lock(mutex_);
  TUTTI_TRY(make_leave());
  Neighbour met = neighbour_of(*front_, neighbour, *other.front, other.door);
  met.regions = other.front->bases;
  if (!other.is_near) {
    TUTTI_ASSIGN(met.regions, imports_.add(neighbour, {other.front, other.bases}));
    exports_.link(neighbour, other.link, num_known);
    mapper_.link(neighbour, other.link, static_cast<uint32_t>(other.bases.size()));
  }
  TUTTI_TRY(write_state(&state_->leader.neighbours[neighbour], met));
  num_met_ = std::max(num_met_, neighbour + 1);
  return write_state(&state_->num_ranks, num_met_);
}

Status check_places(const DeviceRequest& request) {
  const bool is_in_place = request.input == request.output && request.input != nullptr;
  if (!is_in_place || request.program->may_be_in_place()) return {};
  return Error{ErrorCode::kInvalidArgument, "this schedule needs an output that is not the input"};
}

Result<Daemon::Ticket> Daemon::submit(const DeviceRequest& request) {
  TUTTI_ASSIGN(const Ticket ticket, take_place(request));
  if (Status status = hand_over(request, ticket); !status) return std::move(status.error());
  return ticket;
}

Result<Daemon::Ticket> Daemon::take_place(const DeviceRequest& request) {
  TUTTI_TRY(check_places(request));
  const std::lock_guard lock(mutex_);
  TUTTI_TRY(failure_);
  TUTTI_ASSIGN(const LoadedProgram::Slot slot, request.program->take_slot());
  return Ticket{request.program, slot};
}

// A leader that is about to leave says so and then looks at the number, which here is written
// before it is looked whether the leader leaves: so one of them sees the other.
Status Daemon::expect() {
  const std::lock_guard lock(mutex_);
  TUTTI_TRY(failure_);
  std::atomic_ref(host_->num_expected).fetch_add(1, std::memory_order_seq_cst);
  Status status = launch_if_left();
  if (!status) expect_no_more();
  return status;
}

void Daemon::expect_no_more() {
  // Pairs with the acquire of a leader that is about to leave: it sees what was handed over.
  std::atomic_ref(host_->num_expected).fetch_sub(1, std::memory_order_release);
}

Status Daemon::hand_over(const DeviceRequest& request, const Ticket& ticket) {
  const std::lock_guard lock(mutex_);
  TUTTI_TRY(failure_);
  TUTTI_TRY(write_submission(submission_of(request, ticket.slot)));
  return launch_if_left();
}

Result<Daemon::Preparation> Daemon::prepare(const DeviceRequest& request) {
  TUTTI_TRY(check_places(request));
  const std::lock_guard lock(mutex_);
  TUTTI_TRY(failure_);
  TUTTI_ASSIGN(const LoadedProgram::Slot slot, request.program->take_slot());
  Result<uint32_t> place = preparations_.add(submission_of(request, slot));
  if (!place) {
    request.program->give_back(slot);
    return std::move(place.error());
  }
  return Preparation{*place, {request.program, slot}, preparations_.words(*place)};
}

Status Daemon::number(const Preparation& preparation, uint64_t operation) {
  const std::lock_guard lock(mutex_);
  return preparations_.number(preparation.place, operation);
}

void Daemon::withdraw(const Preparation& preparation) {
  const std::lock_guard lock(mutex_);
  const auto& [program, slot] = preparation.ticket;
  // What a peer may still write to is not used again.
  if (Preparations::is_clean(*slot.completion)) program->give_back(slot);
  preparations_.remove(preparation.place);
}

size_t Daemon::num_prepared() const {
  const std::lock_guard lock(mutex_);
  return preparations_.size();
}

// A launch that ends with something triggered under way says so before it says that it has left.
uint32_t Daemon::launch_here() const {
  const uint32_t launch = launch_;
  if (load_acquire(&host_->left) != launch) return launch;
  if (load_acquire(&host_->triggered) != 0) return launch + 1;
  // Whoever launches clears the word, but counts before.
  const uint32_t now = launch_;
  return now == launch ? 0 : now;
}

Result<bool> Daemon::look_for_triggers() {
  const std::lock_guard lock(mutex_);
  TUTTI_TRY(failure_);
  const bool is_here = !has_left();
  // A trigger writes its arm word first, and the last look before a launch ends is at these words:
  // what is not seen there is seen here.
  const bool is_wanted = !is_here && load_acquire(&host_->triggered) != 0;
  if (is_here && look_after()) failure_ = serve();
  if (is_wanted) failure_ = launch_again();
  TUTTI_TRY(failure_);
  return is_here || is_wanted;
}

Status Daemon::write_submission(const Submission& submission) {
  // Liveness: the daemon takes whatever is submitted, and is launched again if it has left; or the
  // device fails.
  while (num_submitted_ - load_relaxed(&host_->num_taken) >= kSubmissions) {
    TUTTI_TRY(look_after());
    TUTTI_TRY(launch_if_left());
    std::this_thread::yield();
  }
  Unit* const at = submissions_ + uint64_t{num_submitted_ % kSubmissions} * kSubmissionUnits;
  write_units(at, submission, ++num_submitted_, kSubmissionUnits);
  return {};
}

bool Daemon::has_left() const { return load_acquire(&host_->left) == launch_; }

// A leader that is about to leave looks once more for what was submitted: either it sees that, or
// it is seen here that it leaves.
Status Daemon::launch_if_left() {
  const auto is_leaving = [&] {
    return std::atomic_ref(host_->leaving).fetch_add(0, std::memory_order_seq_cst) == launch_;
  };
  // Liveness: it has left, or will stay, in some microseconds; or the device fails.
  while (!has_left() && is_leaving()) {
    TUTTI_TRY(look_after());
    std::this_thread::yield();
  }
  return has_left() ? launch_again() : Status();
}

Status Daemon::launch_again() {
  ++launch_;  // first: who sees that the word is cleared sees this launch (launch_here)
  // What was triggered before is found by this launch. Acquires what was armed.
  std::atomic_ref(host_->triggered).exchange(0, std::memory_order_acq_rel);
  return device_.launch(state_, number_, {0, 1, launch_});
}

const Status& Daemon::look_after() {
  const uint64_t now = base::now_ns();
  if (!failure_ || now - looked_after_ns_ < kBetweenQuestionsNs) return failure_;
  looked_after_ns_ = now;
  failure_ = device_.health(number_);
  return failure_;
}

Status Daemon::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

Status Daemon::serve() {
  const uint32_t workers = load_acquire(&host_->workers);
  if (workers != workers_launch_) {
    workers_launch_ = workers;
    TUTTI_TRY(device_.launch(state_, number_, {1, num_workers_, workers}));
  }
  mapper_.look();
  // Pairs with the release in can_reach.
  if (const uint32_t wanted = load_acquire(&host_->wanted); wanted != 0) mapper_.ask(wanted);
  return {};
}

const Status& Daemon::tend() {
  if (!look_after()) return failure_;
  failure_ = serve();
  if (failure_) failure_ = launch_if_left();
  return failure_;
}

bool Daemon::is_over(const Ticket& ticket) {
  // Pairs with the release in complete.
  return load_acquire(&ticket.slot.completion->outcome) !=
         static_cast<uint32_t>(Outcome::kUnderWay);
}

Completion Daemon::wait(const Ticket& ticket, uint64_t limit_ns) {
  uint64_t begin = 0;
  // Liveness: the operation ends when its members have issued it, or at its deadline; meanwhile the
  // daemon is launched as often as it leaves. And at `limit_ns`, or when the device has failed.
  for (uint32_t i = 1; !is_over(ticket); ++i) {
    if (i % kLooksPerCheck != 0) continue;
    const uint64_t now = base::now_ns();
    if (begin == 0) begin = now;
    if (now - begin > limit_ns) return {};
    if (i > kLooksAlone) std::this_thread::yield();
    const std::lock_guard lock(mutex_);
    if (tend()) continue;
    Completion lost{};
    lost.outcome = static_cast<uint32_t>(Outcome::kDeviceLost);
    return lost;
  }
  // Members that have used new memory have exported it before.
  mapper_.look();
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
  TUTTI_TRY(look_after());
  if (num_submitted_ == num_ended_) return false;
  const bool had_left = has_left();
  TUTTI_TRY(tend());
  return had_left;
}

Status Daemon::abort(uint32_t group) {
  TUTTI_TRY(write_state(&state_->aborted[group], 1U));
  const std::lock_guard lock(mutex_);
  store_relaxed(&host_->leave, launch_);
  return {};
}

Status Daemon::forget(uint32_t group) { return write_state(&state_->aborted[group], 0U); }

Status Daemon::why_unreachable() const {
  const std::lock_guard lock(mutex_);
  return imports_.unmapped();
}

Status Daemon::make_leave() {
  store_relaxed(&host_->leave, launch_);
  // Liveness: the leader looks at the word every few rounds, or the device fails.
  while (!has_left()) {
    TUTTI_TRY(look_after());
    std::this_thread::yield();
  }
  return {};
}

void Daemon::leave() {
  const std::lock_guard lock(mutex_);
  // What has failed is not there either.
  static_cast<void>(make_leave());
}

uint32_t Daemon::num_launches() const {
  const std::lock_guard lock(mutex_);
  return launch_;
}

}  // namespace tutti::engine::cuda
