// A stream without a GPU: what is posted runs in order, in a thread of the stream's own. Whoever
// posts does not wait. It outlives what was posted.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

// What a tutti::DeviceStream points to.
struct CUstream_st {
 public:
  CUstream_st() : thread_([this] { run(); }) {}
  // Waits for all that was posted.
  ~CUstream_st();
  CUstream_st(const CUstream_st&) = delete;
  CUstream_st& operator=(const CUstream_st&) = delete;

  void post(std::function<void()> task);
  // As cudaStreamSynchronize.
  void synchronize();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> posted_;
  uint64_t num_left_ = 0;  // posted and not over
  bool is_ending_ = false;
  std::thread thread_;  // begins last
};

namespace tutti::test {

using HostStream = CUstream_st;

// What current_device() answers in the calling thread, as cudaSetDevice; negative: that it cannot.
void set_current_device(int device);
// Of allocate_on_device, not freed yet.
[[nodiscard]] uint64_t num_device_allocations();
[[nodiscard]] uint64_t num_allocations_on(int device);

}  // namespace tutti::test
