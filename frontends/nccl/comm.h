// What an ncclComm_t points to: ranks on GPUs, and what NCCL's interface keeps beside them. Any
// thread, but for its end.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "frontends/nccl/making.h"
#include "frontends/nccl/nccl_abi.h"
#include "tutti/device.h"
#include "tutti/result.h"

namespace tutti::nccl {

// An operator of the communicator: the sum of elements that are multiplied first.
struct Premul {
  DataType type;
  double factor;
};

}  // namespace tutti::nccl

struct ncclComm {
 public:
  // What its calls do while they cannot be over: wait, or say that they are in progress.
  enum class Mode : uint8_t { kBlocking, kNonBlocking };
  ncclComm(std::shared_ptr<tutti::nccl::Making> making, Mode mode)
      : making_(std::move(making)), mode_(mode) {}
  // Its making is over. Waits for what was enqueued, unless it was aborted.
  ~ncclComm();
  ncclComm(const ncclComm&) = delete;
  ncclComm& operator=(const ncclComm&) = delete;

  [[nodiscard]] bool is_one() const { return magic_ == kMagic; }

  ncclRedOp_t add(tutti::nccl::Premul op);
  [[nodiscard]] std::optional<tutti::nccl::Premul> find(ncclRedOp_t op);
  // Whether it was there.
  bool remove(ncclRedOp_t op);

  // Memory for one operation of the stream after the other; for those of one group by their index.
  // It is there until the communicator's end.
  tutti::Result<void*> scratch(tutti::DeviceStream stream, size_t index, uint64_t bytes);

  [[nodiscard]] Mode mode() const { return mode_; }
  [[nodiscard]] tutti::nccl::Making& making() { return *making_; }
  // When it was made: check_ready says so.
  [[nodiscard]] tutti::DeviceCommunicator& gpu() { return making_->ranks(); }
  // Whether it, or a part of it, is in the making.
  [[nodiscard]] bool is_in_progress();
  void add_part(const std::shared_ptr<tutti::nccl::Making>& part);

  std::atomic<bool> is_final{false};    // ncclCommFinalize was called: no operations any more
  std::atomic<bool> is_aborted{false};  // nobody waits for what is enqueued
  std::atomic<bool> is_revoked{false};  // aborted, and yet to be split, shrunk or destroyed

 private:
  struct Scratch {
    void* memory = nullptr;
    uint64_t bytes = 0;
  };
  static constexpr uint64_t kMagic = 0x6d6d6f6369747475u;  // "uttlcomm": not freed, not foreign

  uint64_t magic_ = kMagic;
  std::shared_ptr<tutti::nccl::Making> making_;
  Mode mode_;
  std::mutex mutex_;  // guards what follows
  std::vector<std::optional<tutti::nccl::Premul>> ops_;
  std::map<std::pair<tutti::DeviceStream, size_t>, Scratch> scratch_;
  std::vector<void*> outgrown_;
  std::vector<std::weak_ptr<tutti::nccl::Making>> parts_;  // that may be in the making
};

namespace tutti::nccl {

// A handle that a program passed.
[[nodiscard]] Status check(ncclComm_t comm);
// And that it can be used: nothing of it is in progress, and it was made.
[[nodiscard]] Status check_ready(ncclComm_t comm);

}  // namespace tutti::nccl
