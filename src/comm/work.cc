#include "tutti/work.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "comm/group.h"
#include "engine/cpu/wait.h"

namespace tutti {

using engine::OperationState;

namespace {

// The other end is another call of this rank, by another thread that may take its time.
constexpr auto kNap = std::chrono::microseconds(100);

}  // namespace

struct Work::More {
  // Shared with the rank's other call, that of the other end; null for all but messages to oneself.
  std::shared_ptr<comm::SelfMessage> message;
  std::vector<Work> parts;  // what was added
};

Work::Work() = default;
Work::Work(Error error) : result_(std::move(error)) {}
Work::Work(comm::Group* group, engine::Operation* operation)
    : group_(group), operation_(operation) {}
Work::Work(comm::Group* group, std::shared_ptr<comm::SelfMessage> message)
    : group_(group), more_(new More{std::move(message), {}}) {}
Work::Work(Work&& other) noexcept
    : group_(std::exchange(other.group_, nullptr)),
      operation_(std::exchange(other.operation_, nullptr)),
      result_(std::move(other.result_)),
      more_(std::move(other.more_)) {}

Work& Work::operator=(Work&& other) noexcept {
  if (this == &other) return *this;
  // Liveness: it ends with what this stood for, or at its deadline.
  (void)wait();
  group_ = std::exchange(other.group_, nullptr);
  operation_ = std::exchange(other.operation_, nullptr);
  result_ = std::move(other.result_);
  more_ = std::move(other.more_);
  return *this;
}

Work::~Work() {
  if (operation_ == nullptr && more_ == nullptr) return;
  // Liveness: it ends with the operation, or at the operation's deadline.
  (void)wait();
}

Work& Work::operator+=(Work other) {
  const bool is_nothing = operation_ == nullptr && more_ == nullptr;
  if (is_nothing && result_.ok()) return *this = std::move(other);
  if (more_ == nullptr) more_ = std::make_unique<More>();
  more_->parts.push_back(std::move(other));
  return *this;
}

Status Work::wait() {
  if (has_own()) {
    // Liveness: the operation ends when its peers come, or at its deadline.
    if (!own_is_over_by(own_deadline_ns())) give_up_own();
    take_own_result();
  }
  if (more_ != nullptr) wait_for_parts();
  return result_;
}

void Work::wait_for_parts() {
  for (Work& part : more_->parts) {
    // Liveness: each part ends, as in wait.
    Status status = part.wait();
    if (result_.ok() && !status.ok()) result_ = std::move(status);
  }
  more_.reset();
}

comm::SelfMessage* Work::message() const {
  return more_ == nullptr ? nullptr : more_->message.get();
}

bool Work::wait_for(std::chrono::nanoseconds limit) {
  const uint64_t begin_ns = base::now_ns();
  const uint64_t until_ns = begin_ns + static_cast<uint64_t>(std::max<int64_t>(limit.count(), 0));
  if (has_own() && !own_is_over_by(until_ns)) return false;
  if (more_ == nullptr) return true;
  for (Work& part : more_->parts) {
    const uint64_t now_ns = base::now_ns();
    const uint64_t left_ns = now_ns < until_ns ? until_ns - now_ns : 0;
    // Liveness: at most as long as is left.
    if (!part.wait_for(std::chrono::nanoseconds(left_ns))) return false;
  }
  return true;
}

bool Work::test() {
  bool is_over = true;
  if (has_own()) {
    group_->node().engine.progress();
    if (message() != nullptr) group_->notice_abort();
    if (!own_is_over() && base::now_ns() >= own_deadline_ns()) give_up_own();
    is_over = own_is_over();
  }
  if (more_ == nullptr) return is_over;
  for (Work& part : more_->parts) is_over = part.test() && is_over;
  return is_over;
}

bool Work::own_is_over() const {
  if (operation_ == nullptr) return message()->is_over.load(std::memory_order_acquire);
  return operation_->state.load(std::memory_order_acquire) != OperationState::kRunning;
}

bool Work::own_is_over_by(uint64_t until_ns) {
  comm::Node& node = group_->node();
  if (operation_ != nullptr) {
    operation_->is_waited.store(true, std::memory_order_relaxed);
    // Liveness: `until_ns` ends it in any case.
    return engine::wait_until(node.engine, *operation_, node.policy, until_ns);
  }
  // Liveness: the clock passes `until_ns`.
  while (!own_is_over() && base::now_ns() < until_ns) {
    if (!node.engine.progress()) std::this_thread::sleep_for(kNap);
    group_->notice_abort();
  }
  return own_is_over();
}

uint64_t Work::own_deadline_ns() const {
  return operation_ == nullptr ? message()->end.deadline_ns : operation_->request.deadline_ns;
}

void Work::give_up_own() {
  if (operation_ != nullptr) {
    group_->node().engine.give_up(operation_, ErrorCode::kDeadline);
    return;
  }
  group_->self_mail().give_up(
      *message(), {ErrorCode::kDeadline,
                   message()->end.receives ? "recv from this rank itself: nothing was sent before "
                                             "the deadline"
                                           : "send to this rank itself: nobody received before "
                                             "the deadline"});
}

void Work::take_own_result() {
  if (operation_ == nullptr) {
    result_ = message()->result;
    more_->message.reset();
    return;
  }
  if (operation_->state.load(std::memory_order_acquire) == OperationState::kFailed) {
    result_ = operation_->error;
    group_->node().note_failure(result_.error());
  }
  group_->node().engine.release(std::exchange(operation_, nullptr));
}

}  // namespace tutti
