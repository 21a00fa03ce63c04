#include "frontends/nccl/making.h"

#include <utility>

namespace tutti::nccl {

void Making::finish(Result<std::optional<DeviceCommunicator>> made) {
  std::optional<DeviceCommunicator> unwanted;  // goes without the lock
  {
    const std::lock_guard lock(mutex_);
    if (is_over_) return;
    is_over_ = true;
    if (!made.ok()) {
      status_ = std::move(made.error());
    } else if (is_given_up_) {
      unwanted = *std::move(made);
    } else {
      ranks_ = *std::move(made);
    }
  }
  changed_.notify_all();
  if (!unwanted) return;
  Communicator host = unwanted->host();
  unwanted->abort();
  host.abort();
}

bool Making::is_over() {
  const std::lock_guard lock(mutex_);
  return is_over_;
}

Status Making::status() {
  const std::lock_guard lock(mutex_);
  return status_;
}

void Making::wait() {
  std::unique_lock lock(mutex_);
  // Liveness: whoever makes them has a deadline, and says so if they drop it.
  changed_.wait(lock, [this] { return is_over_; });
}

std::optional<DeviceCommunicator> Making::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(ranks_, std::nullopt);
}

bool Making::give_up() {
  const std::lock_guard lock(mutex_);
  is_given_up_ = true;
  return !is_over_;
}

Maker::~Maker() {
  making_->finish(Error{ErrorCode::kAborted, "another call of its group was wrong"});
}

}  // namespace tutti::nccl
