#include "comm/cuda/device_group.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "base/try.h"
#include "comm/cuda/device_batch.h"
#include "comm/diagnosis/report.h"
#include "engine/cpu/signature_text.h"

namespace tutti::comm {
namespace {

using engine::cuda::Completion;
using engine::cuda::DeviceRequest;
using engine::cuda::Missing;
using engine::cuda::Outcome;
using engine::cuda::Stall;

// Between a rank's last word and the end of its process there may be much to do for others.
constexpr auto kLastWords = std::chrono::seconds(1);

// What was missing at the deadline, and where the program stood.
std::string describe_stall(const Stall& stall, const std::string& what, uint32_t rank,
                           uint32_t self) {
  const auto at = [&] {
    return fmt::format("{}, at the deadline of rank {}: lane {}, step {}", what, self, stall.lane,
                       stall.step);
  };
  switch (static_cast<Missing>(stall.missing)) {
    case Missing::kCall:
      return fmt::format("rank {} had not called {} by the deadline of rank {}", rank, what, self);
    case Missing::kMessage:
      return fmt::format("{} waited for message {} of rank {}, which had sent {}: is it stuck?",
                         at(), stall.expected, rank, stall.seen);
    case Missing::kReceipt:
      return fmt::format(
          "{} waited until rank {} had taken message {}; it had taken {}: is it stuck?", at(), rank,
          stall.expected, stall.seen);
  }
  return fmt::format("{} was not over by the deadline of rank {}", what, self);
}

}  // namespace

DeviceGroup::DeviceGroup(const Communicator& comm, int ordinal, DeviceMembers members)
    : comm_(comm),
      ordinal_(ordinal),
      self_(comm.rank()),
      members_(std::move(members)),
      numbers_(members_.id),
      programs_(members_, self_, comm_.group()->tuning()) {}

Result<std::shared_ptr<DeviceGroup>> DeviceGroup::create(const Communicator& comm,
                                                         DeviceHost& host) {
  TUTTI_ASSIGN(DeviceMembers members, introduce(comm, host));
  TUTTI_ASSIGN(const uint32_t number, members.node->take_group());
  std::shared_ptr<DeviceGroup> group(
      new DeviceGroup(comm, host.facts().ordinal, std::move(members)));
  group->group_ = number;
  DeviceGroup* const raw = group.get();
  if (raw->members_.far.empty()) return group;
  TUTTI_ASSIGN(group->deaths_, Watch::start(
                                   raw->members_.far,
                                   [raw](Watch::Process dead) { raw->lose(dead); }, std::nullopt));
  return group;
}

std::shared_ptr<DeviceGroup> DeviceGroup::for_copies(std::shared_ptr<DeviceGroup> group) {
  DeviceGroup* const raw = group.get();
  return {raw, [kept = std::move(group)](DeviceGroup* /*same*/) mutable {
            kept->let_go();
            kept.reset();
          }};
}

void DeviceGroup::let_go() {
  {
    const std::lock_guard lock(mutex_);
    if (is_aborted_) return;
  }
  // Liveness: every operation ends, at its deadline if not before.
  static_cast<void>(finish());
}

DeviceGroup::~DeviceGroup() {
  deaths_.reset();
  members_.node->give_back_group(group_);
}

Status DeviceGroup::enqueue(std::span<const Call> calls, engine::cuda::StreamHandle handle) {
  {
    const std::lock_guard lock(mutex_);
    TUTTI_TRY(may_call());
  }
  TUTTI_ASSIGN(const bool is_captured, is_capturing(handle));
  if (is_captured) return capture(calls, handle);
  TUTTI_ASSIGN(const uint64_t id, members_.node->device().stream_id(handle));
  TUTTI_ASSIGN(const auto stream, members_.node->stream(id, handle));
  DeviceBatch batch = new_batch();
  for (const Call& call : calls) TUTTI_TRY(batch.add(call));
  TUTTI_TRY(batch.complete(
      {.take = [&](uint64_t bytes) { return stream->staging(bytes); },
       .take_at_hand = [&](uint64_t bytes) { return stream->staging_at_hand(bytes); }}));
  const auto number = [&] {
    batch.number(numbers_);
    for (const BoardEntry& facts : batch.facts()) node().elsewhere.announce(facts);
  };
  const Status status =
      stream->submit({handle, batch.requests(), batch.before(), batch.after(), this, number});
  if (!status) {
    for (const BoardEntry& facts : batch.facts()) node().elsewhere.withdraw(facts.id);
  }
  node().notice();
  return status;
}

// A completion counts an operation's own members, of which a message has two: the sender first.
uint32_t DeviceGroup::rank_of(const BoardEntry& facts, uint32_t member) const {
  const bool is_pair =
      facts.signature.collective == static_cast<uint8_t>(CollectiveKind::kSendRecv);
  if (!is_pair) return member;
  const uint32_t sender = facts.signature.root;
  if (member == 0 || sender != self_) return member == 0 ? sender : self_;
  const std::span<const Rank> ranks = comm_.group()->members();
  for (uint32_t r = 0; r < ranks.size(); ++r) {
    if (r != self_ && facts.members.has(ranks[r].value)) return r;
  }
  return member;
}

Error DeviceGroup::error_of(const BoardEntry& facts, const Completion& how) const {
  const uint32_t rank = rank_of(facts, how.member);
  switch (static_cast<Outcome>(how.outcome)) {
    case Outcome::kMismatch:
      return {ErrorCode::kInvalidArgument,
              fmt::format("ranks disagree on {}: rank {} called {}, rank {} called {}",
                          describe_shortly(facts), self_, engine::to_string(facts.signature), rank,
                          engine::to_string(how.signature))};
    case Outcome::kDeadline:
      return {ErrorCode::kDeadline, describe_stall(how.stall, describe(facts), rank, self_)};
    case Outcome::kUnreachable: {
      const Status why = members_.node->daemon().why_unreachable();
      return {ErrorCode::kIo,
              fmt::format("{}: memory of rank {} cannot be reached from rank {}: {}",
                          describe(facts), rank, self_, why ? "" : why.error().message)};
    }
    case Outcome::kDeviceLost: {
      const Status why = members_.node->daemon().failure();
      return {ErrorCode::kIo, fmt::format("{}: the GPU of rank {} has failed: {}", describe(facts),
                                          self_, why ? "it runs nothing" : why.error().message)};
    }
    case Outcome::kUnderWay:
    case Outcome::kDone:
    case Outcome::kAborted: break;
  }
  return {ErrorCode::kAborted,
          fmt::format("the communicator was aborted: {} did not complete", describe(facts))};
}

void DeviceGroup::fail(Error error) {
  const std::lock_guard lock(mutex_);
  if (first_failure_) first_failure_ = std::move(error);
}

void DeviceGroup::began(const DeviceRequest& request) {
  node().elsewhere.enqueued(request.operation,
                            {reinterpret_cast<uint64_t>(request.stream), request.stream_value});
  count_up();
}

void DeviceGroup::began_copies() { count_up(); }

void DeviceGroup::count_up() {
  const std::lock_guard lock(mutex_);
  if (num_under_way_++ == 0) kept_ = shared_from_this();
}

void DeviceGroup::ended(uint64_t operation, const Completion& how) {
  const bool is_done = static_cast<Outcome>(how.outcome) == Outcome::kDone;
  const auto facts = node().elsewhere.ended(
      operation, is_done ? engine::Outcome::kDone : engine::Outcome::kFailed);
  if (!is_done) fail(error_of(facts.value_or(BoardEntry{}), how));
  count_down();
}

void DeviceGroup::ended_copies(const Status& how) {
  if (!how) fail(how.error());
  count_down();
}

void DeviceGroup::count_down() {
  std::shared_ptr<DeviceGroup> last;  // goes last: it may be all that keeps this
  const std::lock_guard lock(mutex_);
  if (--num_under_way_ != 0) return;
  last = std::move(kept_);
  changed_.notify_all();
}

// A rank whose part is done may end before this one's is. What is under way after that waits for it
// in vain.
void DeviceGroup::lose(Watch::Process dead) {
  {
    std::unique_lock lock(mutex_);
    // Liveness: it ends with the time.
    changed_.wait_for(lock, kLastWords, [this] { return num_under_way_ == 0 || is_ended_; });
  }
  end_all({ErrorCode::kPeerLost,
           fmt::format("rank {} is lost: its process {} has ended", dead.rank.value, dead.pid)});
}

Status DeviceGroup::status() {
  hear_of_prepared();
  const std::lock_guard lock(mutex_);
  return first_failure_;
}

bool DeviceGroup::is_idle() const {
  const std::lock_guard lock(mutex_);
  return num_under_way_ == 0;
}

Status DeviceGroup::finish() {
  std::unique_lock lock(mutex_);
  // Liveness: every operation ends, at its deadline if not before, once its stream has come to it.
  changed_.wait(lock, [this] { return num_under_way_ == 0; });
  lock.unlock();
  return status();
}

void DeviceGroup::abort() {
  {
    const std::lock_guard lock(mutex_);
    is_aborted_ = true;
  }
  end_all({ErrorCode::kAborted, "the communicator was aborted"});
}

void DeviceGroup::end_all(Error error) {
  fail(std::move(error));
  {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
    changed_.notify_all();
  }
  // Also if nothing is under way: a call that was let in before may be about to be.
  if (Status status = members_.node->daemon().abort(group_); !status) {
    fail(std::move(status.error()));
  }
}

}  // namespace tutti::comm
