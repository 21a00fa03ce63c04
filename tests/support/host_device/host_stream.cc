#include "tests/support/host_device/host_stream.h"

#include <utility>

CUstream_st::~CUstream_st() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CUstream_st::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(task));
    ++num_left_;
  }
  changed_.notify_all();
}

void CUstream_st::synchronize() {
  std::unique_lock lock(mutex_);
  // Liveness: tasks end; ctest's time limit ends a test whose tasks do not.
  changed_.wait(lock, [this] { return num_left_ == 0; });
}

void CUstream_st::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    // Liveness: somebody posts, or the destructor says that nobody will.
    changed_.wait(lock, [this] { return !posted_.empty() || is_ending_; });
    if (posted_.empty()) return;
    const auto task = std::move(posted_.front());
    posted_.pop_front();
    lock.unlock();
    task();
    lock.lock();
    --num_left_;
    changed_.notify_all();
  }
}
