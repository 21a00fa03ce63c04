#include "tests/support/thread_stream.h"

#include <atomic>
#include <utility>

namespace {

std::atomic<uint64_t> g_num_streams = 0;

}  // namespace

CUstream_st::CUstream_st() : id_(++g_num_streams), thread_([this] { run(); }) {}

CUstream_st& CUstream_st::of_thread() {
  thread_local CUstream_st stream;
  return stream;
}

CUstream_st::~CUstream_st() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CUstream_st::launch(const tutti::test::ThreadGraph& graph) {
  for (const std::function<void()>& task : graph.tasks) add(task);
}

void CUstream_st::add(std::function<void()> task) {
  if (recording_ != nullptr) return recording_->tasks.push_back(std::move(task));
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
}

void CUstream_st::synchronize() {
  std::unique_lock lock(mutex_);
  // Liveness: each task ends.
  changed_.wait(lock, [this] { return tasks_.empty(); });
}

void CUstream_st::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    // Liveness: tasks are announced, and so is the end.
    changed_.wait(lock, [this] { return is_over_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const std::function<void()> task = tasks_.front();
    lock.unlock();
    task();
    lock.lock();
    tasks_.pop_front();
    changed_.notify_all();
  }
}
