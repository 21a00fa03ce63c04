#include "tutti/work.h"

#include "comm/group.h"
#include "engine/cpu/wait.h"

namespace tutti {

using engine::OperationState;

Work& Work::operator=(Work&& other) noexcept {
  if (this == &other) return *this;
  finish();
  group_ = std::exchange(other.group_, nullptr);
  operation_ = std::exchange(other.operation_, nullptr);
  result_ = std::move(other.result_);
  return *this;
}

Work::~Work() { finish(); }

void Work::finish() {
  // Liveness: it ends with the operation, or at the operation's deadline.
  if (operation_ != nullptr) (void)wait();
}

Status Work::wait() {
  if (operation_ == nullptr) return result_;
  comm::Node& node = group_->node();
  operation_->is_waited.store(true, std::memory_order_relaxed);
  // Liveness: the operation ends when its peers come, or at its deadline.
  const bool is_over =
      engine::wait_until(node.engine, *operation_, node.policy, operation_->request.deadline_ns);
  if (!is_over) node.engine.give_up(operation_, ErrorCode::kDeadline);
  if (operation_->state.load(std::memory_order_acquire) == OperationState::kFailed) {
    result_ = operation_->error;
    node.note_failure(result_.error());
  }
  node.engine.release(std::exchange(operation_, nullptr));
  return result_;
}

bool Work::test() {
  if (operation_ == nullptr) return true;
  group_->node().engine.progress();
  return operation_->state.load(std::memory_order_acquire) != OperationState::kRunning;
}

}  // namespace tutti
