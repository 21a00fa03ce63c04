// The host's side of one rank's daemon: submits operations, learns how they ended, and launches the
// daemon whenever something is under way and it has left. Any thread may call anything.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/cuda/device.h"
#include "engine/cuda/loaded_program.h"
#include "engine/cuda/wire.h"
#include "tutti/result.h"

namespace tutti::engine::cuda {

struct DaemonOptions {
  uint32_t num_workers = 15;  // blocks beside the leader
  Presence presence = {};
};

struct DeviceRequest {
  uint64_t operation = 0;  // equal on all ranks, and unlike that of any other under way
  transport::Signature signature;
  LoadedProgram* program = nullptr;  // of this rank; outlives the operation
  const void* input = nullptr;
  void* output = nullptr;
  double factor = 1;
  uint64_t budget_ns = UINT64_MAX / 2;
  StreamWords* stream = nullptr;  // in memory of the device
  uint32_t stream_value = 0;
};

class Daemon {
 public:
  // The daemons of all ranks of a group on one device, which outlives them.
  static Result<std::vector<std::unique_ptr<Daemon>>> create(Device& device, uint32_t num_ranks,
                                                             const DaemonOptions& options);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // An operation under way; ends with `wait`.
  struct Ticket {
    LoadedProgram* program = nullptr;
    LoadedProgram::Slot slot{};
  };
  [[nodiscard]] Result<Ticket> submit(const DeviceRequest& request);
  [[nodiscard]] static bool is_over(const Ticket& ticket);
  // How it ended. The ticket is used up if it has; kUnderWay when `limit_ns` are over.
  Completion wait(const Ticket& ticket, uint64_t limit_ns);

  // Whether the daemon had left and something is under way; it is launched then. For whoever
  // watches operations that nobody waits for.
  Result<bool> keep_going();
  // Ends everything that is under way, at the next time the daemon leaves.
  void abort();
  // Asks the daemon to leave, and waits until it has.
  void leave();

  // On the device; to be read when the daemon has left.
  [[nodiscard]] const DaemonState* state() const { return state_; }
  [[nodiscard]] uint32_t num_workers() const { return num_workers_; }
  [[nodiscard]] uint32_t num_launches() const;

 private:
  explicit Daemon(Device& device) : device_(device) {}

  [[nodiscard]] bool has_left() const;
  [[nodiscard]] Status launch_if_left();
  [[nodiscard]] Status write_submission(const Submission& submission);

  Device& device_;
  DaemonState* state_ = nullptr;
  Unit* submissions_ = nullptr;
  HostWords* host_ = nullptr;
  uint32_t rank_ = 0;
  uint32_t num_workers_ = 0;

  mutable std::mutex mutex_;
  uint32_t num_submitted_ = 0;
  uint32_t num_ended_ = 0;
  uint32_t launch_ = 0;  // the last one
};

}  // namespace tutti::engine::cuda
