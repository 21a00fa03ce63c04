// A stream without a GPU: things to do, one after the other, in a thread of the stream's own.
// Whoever adds one does not wait.
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
  CUstream_st();
  // When all is done.
  ~CUstream_st();
  CUstream_st(const CUstream_st&) = delete;
  CUstream_st& operator=(const CUstream_st&) = delete;

  // What kOwnStream is in the calling thread.
  [[nodiscard]] static CUstream_st& of_thread();

  [[nodiscard]] uint64_t id() const { return id_; }
  void add(std::function<void()> task);
  // As cudaStreamSynchronize.
  void synchronize();

 private:
  void run();

  const uint64_t id_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool is_over_ = false;
  std::thread thread_;  // begins last
};

namespace tutti::test {

using ThreadStream = CUstream_st;

// As cudaStreamPerThread is.
inline ThreadStream* const kOwnStream = reinterpret_cast<ThreadStream*>(2);

}  // namespace tutti::test
