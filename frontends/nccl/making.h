// A communicator's ranks, there or in the making: what the handle that a program has shares with
// whoever makes them meanwhile. Any thread.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "tutti/device.h"
#include "tutti/result.h"

namespace tutti::nccl {

class Making {
 public:
  Making() = default;
  explicit Making(DeviceCommunicator ranks) : is_over_(true), ranks_(std::move(ranks)) {}

  // --- for who makes them ---

  // Once: what comes later is dropped. Null: this rank is in none.
  void finish(Result<std::optional<DeviceCommunicator>> made);

  // --- for who has the handle ---

  [[nodiscard]] bool is_over();
  // Why there are none. Only when it is over.
  [[nodiscard]] Status status();
  // Waits until it is over.
  void wait();
  // There they are: it is over, and well.
  [[nodiscard]] DeviceCommunicator& ranks() { return *ranks_; }
  [[nodiscard]] std::optional<DeviceCommunicator> take();
  // Whether it was not over yet: then what is made is aborted. Never waits.
  bool give_up();

 private:
  std::mutex mutex_;  // guards what follows; the ranks do not change any more when it is over
  std::condition_variable changed_;
  bool is_over_ = false;
  bool is_given_up_ = false;
  Status status_;
  std::optional<DeviceCommunicator> ranks_;
};

// Whoever makes them. One that is dropped before has made none: a call of its group was wrong.
class Maker {
 public:
  explicit Maker(std::shared_ptr<Making> making) : making_(std::move(making)) {}
  ~Maker();
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;
  void finish(Result<std::optional<DeviceCommunicator>> made) { making_->finish(std::move(made)); }

 private:
  std::shared_ptr<Making> making_;
};

}  // namespace tutti::nccl
