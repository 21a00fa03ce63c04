// A stream without a GPU: things to do, one after the other, in a thread of the stream's own.
// Whoever adds one does not wait. And graphs: things that a stream was to do, to be done again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tutti::test {

// What a stream was given while it was recorded.
struct ThreadGraph {
  std::vector<std::function<void()>> tasks;
  std::vector<std::shared_ptr<void>> kept;
};

}  // namespace tutti::test

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
  // As the device is told of it; and what it is given before fails.
  void settle() { is_settled_ = true; }
  [[nodiscard]] bool is_settled() const { return is_settled_; }
  void add(std::function<void()> task);
  // As cudaStreamSynchronize.
  void synchronize();

  // As cudaStreamBeginCapture, cudaStreamEndCapture and cudaGraphLaunch: one thread records. Graphs
  // outlive what is launched of them.
  void record(tutti::test::ThreadGraph& graph) { recording_ = &graph; }
  void end_recording() { recording_ = nullptr; }
  [[nodiscard]] tutti::test::ThreadGraph* recording() const { return recording_; }
  void launch(const tutti::test::ThreadGraph& graph);

 private:
  void run();

  const uint64_t id_;
  std::atomic<bool> is_settled_{false};
  tutti::test::ThreadGraph* recording_ = nullptr;

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
