#include "tutti/work.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "comm/group.h"
#include "engine/cpu/wait.h"

namespace tutti {

using engine::OperationState;

namespace {

// The other end is another call of this rank, by another thread that may take its time.
constexpr auto kNap = std::chrono::microseconds(100);

}  // namespace

Work::Work(comm::Group* group, std::shared_ptr<comm::SelfMessage> message)
    : group_(group), message_(std::move(message)) {}

Work& Work::operator=(Work&& other) noexcept {
  if (this == &other) return *this;
  // Liveness: it ends with what this stood for, or at its deadline.
  (void)wait();
  group_ = std::exchange(other.group_, nullptr);
  operation_ = std::exchange(other.operation_, nullptr);
  result_ = std::move(other.result_);
  message_ = std::move(other.message_);
  parts_ = std::move(other.parts_);
  return *this;
}

Work::~Work() {
  // Liveness: it ends with the operation, or at the operation's deadline.
  (void)wait();
}

Work& Work::operator+=(Work other) {
  const bool is_nothing = operation_ == nullptr && message_ == nullptr && parts_.empty();
  if (is_nothing && result_.ok()) {
    *this = std::move(other);
  } else {
    parts_.push_back(std::move(other));
  }
  return *this;
}

Status Work::wait() {
  if (has_own()) {
    // Liveness: the operation ends when its peers come, or at its deadline.
    if (!own_is_over_by(own_deadline_ns())) give_up_own();
    take_own_result();
  }
  for (Work& part : parts_) {
    // Liveness: each part ends, as above.
    Status status = part.wait();
    if (result_.ok() && !status.ok()) result_ = std::move(status);
  }
  parts_.clear();
  return result_;
}

bool Work::wait_for(std::chrono::nanoseconds limit) {
  const uint64_t begin_ns = base::now_ns();
  const uint64_t until_ns = begin_ns + static_cast<uint64_t>(std::max<int64_t>(limit.count(), 0));
  if (has_own() && !own_is_over_by(until_ns)) return false;
  for (Work& part : parts_) {
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
    if (message_ != nullptr) group_->notice_abort();
    if (!own_is_over() && base::now_ns() >= own_deadline_ns()) give_up_own();
    is_over = own_is_over();
  }
  for (Work& part : parts_) is_over = part.test() && is_over;
  return is_over;
}

bool Work::own_is_over() const {
  if (message_ != nullptr) return message_->is_over.load(std::memory_order_acquire);
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
  return message_ != nullptr ? message_->end.deadline_ns : operation_->request.deadline_ns;
}

void Work::give_up_own() {
  if (operation_ != nullptr) {
    group_->node().engine.give_up(operation_, ErrorCode::kDeadline);
    return;
  }
  group_->self_mail().give_up(
      *message_, {ErrorCode::kDeadline, message_->end.receives
                                            ? "recv from this rank itself: nothing was sent before "
                                              "the deadline"
                                            : "send to this rank itself: nobody received before "
                                              "the deadline"});
}

void Work::take_own_result() {
  if (message_ != nullptr) {
    result_ = message_->result;
    message_.reset();
    return;
  }
  if (operation_->state.load(std::memory_order_acquire) == OperationState::kFailed) {
    result_ = operation_->error;
    group_->node().note_failure(result_.error());
  }
  group_->node().engine.release(std::exchange(operation_, nullptr));
}

}  // namespace tutti
