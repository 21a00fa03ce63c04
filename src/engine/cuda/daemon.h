// The host's side of one rank's daemon: submits operations, learns how they ended, and launches the
// daemon whenever something is under way and it has left. Any thread may call anything.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/cuda/device.h"
#include "engine/cuda/loaded_program.h"
#include "engine/cuda/mapper.h"
#include "engine/cuda/preparations.h"
#include "engine/cuda/reach.h"
#include "engine/cuda/wire.h"
#include "tutti/result.h"

namespace tutti::engine::cuda {

struct DaemonOptions {
  uint32_t num_workers = 15;  // blocks beside the leader
  Presence presence = {};
  // For programs and operations under way, taken from the device at once; 0: each on its own, when
  // it is needed.
  uint64_t reserved_bytes = 0;
  // For copies in streams of what others do not reach yet, once there are others in other
  // processes.
  uint64_t staging_bytes = 0;
};

struct DeviceRequest {
  uint64_t operation = 0;  // equal on all ranks, and unlike that of any other under way
  transport::Signature signature;
  LoadedProgram* program = nullptr;  // of this rank; outlives the operation
  const void* input = nullptr;
  void* output = nullptr;
  // What others are told of them; 0: what this rank calls them.
  uint64_t input_there = 0;
  uint64_t output_there = 0;
  double factor = 1;
  uint64_t budget_ns = UINT64_MAX / 2;
  uint32_t group = 0;
  StreamWords* stream = nullptr;  // in memory of the device
  uint32_t stream_value = 0;
};

// kInvalidArgument: input and output are the same memory, and the program needs two.
[[nodiscard]] Status check_places(const DeviceRequest& request);

class Daemon {
 public:
  // A daemon that knows itself alone, as neighbour 0. `number` tells daemons of a device apart.
  static Result<std::unique_ptr<Daemon>> create(Device& device, uint32_t number,
                                                const DaemonOptions& options);
  // All ranks of a group in one process; rank i is neighbour i of everyone.
  static Result<std::vector<std::unique_ptr<Daemon>>> create_all(Device& device, uint32_t num_ranks,
                                                                 const DaemonOptions& options);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // --- neighbours ---

  // Where another daemon's front is here, and which of its doors is for this one.
  struct Acquaintance {
    Front* front = nullptr;
    uint32_t door = 0;
    bool is_near = true;  // of this process
    // Of others: as in Imports::Source; what the two tell each other.
    std::vector<const std::byte*> bases = {};
    RegionLink link = {};
  };
  // Before the first neighbour in another process: the number of regions, from 1 on, that it must
  // have mapped when it meets this one. Operations have their homes there, and streams their
  // copies.
  [[nodiscard]] Result<uint32_t> open();
  // The number, and door here, of a daemon that will be met.
  [[nodiscard]] Result<uint32_t> expect_neighbour();
  // Both daemons meet each other before the first operation that both are in. Waits until the
  // daemon has left.
  [[nodiscard]] Status meet(uint32_t neighbour, const Acquaintance& other);
  [[nodiscard]] Front* front() const { return front_; }
  [[nodiscard]] Exports& exports() { return exports_; }
  // Outlives its programs.
  [[nodiscard]] ProgramMemory& memory() { return memory_; }
  // Of copies in streams, which all neighbours know from the beginning.
  [[nodiscard]] MemoryPool& staging() { return staging_; }

  // --- operations ---

  // An operation under way; ends with `wait`.
  struct Ticket {
    LoadedProgram* program = nullptr;
    LoadedProgram::Slot slot{};
  };
  [[nodiscard]] Result<Ticket> submit(const DeviceRequest& request);
  // The same in parts. Between `expect` and `expect_no_more`, each call of which ends one of those,
  // the daemon is there and does not leave by itself. What `take_place` gave is handed over or
  // given back; handing over fails when the device has failed, and else not.
  [[nodiscard]] Result<Ticket> take_place(const DeviceRequest& request);
  static void give_back(const Ticket& ticket) { ticket.program->give_back(ticket.slot); }
  [[nodiscard]] Status expect();
  [[nodiscard]] Status hand_over(const DeviceRequest& request, const Ticket& ticket);
  void expect_no_more();
  [[nodiscard]] static bool is_over(const Ticket& ticket);
  // How it ended. The ticket is used up if it has; kUnderWay when `limit_ns` are over.
  Completion wait(const Ticket& ticket, uint64_t limit_ns);

  // --- operations that others trigger (triggers.h) ---

  struct Preparation {
    uint32_t place = 0;
    Ticket ticket;
    TriggerWords words;
  };
  // As `submit`, but for its stream. `number` says which operation it is, before the first trigger.
  [[nodiscard]] Result<Preparation> prepare(const DeviceRequest& request);
  [[nodiscard]] Status number(const Preparation& preparation, uint64_t operation);
  // It is not under way, and nobody triggers it any more.
  void withdraw(const Preparation& preparation);
  [[nodiscard]] size_t num_prepared() const;
  // The launch that is here, or that something was triggered for; 0: neither, so that nothing that
  // was prepared is under way. As it was a moment ago. Any thread; takes no lock.
  [[nodiscard]] uint32_t launch_here() const;
  // For whoever watches while something is prepared, now and then: brings the daemon back when
  // something was triggered. Whether it is here. An error: the device has failed.
  Result<bool> look_for_triggers();

  // --- all of them ---

  // Whether the daemon had left and something is under way; it is launched then. For whoever
  // watches operations that nobody waits for. An error: the device has failed.
  Result<bool> keep_going();
  // Ends what is under way of a group, when the daemon leaves at the latest, and all that comes.
  [[nodiscard]] Status abort(uint32_t group);
  // Makes the group's number as good as new. Nothing of it is under way.
  [[nodiscard]] Status forget(uint32_t group);
  // Why the device runs nothing any more; then every operation ends as kDeviceLost.
  [[nodiscard]] Status failure() const;
  // Why an operation ended as kUnreachable.
  [[nodiscard]] Status why_unreachable() const;
  // Asks the daemon to leave, and waits until it has.
  void leave();

  // On the device; to be read when the daemon has left.
  [[nodiscard]] const DaemonState* state() const { return state_; }
  [[nodiscard]] uint32_t num_workers() const { return num_workers_; }
  [[nodiscard]] uint32_t num_launches() const;

 private:
  // Where its parts are in the device's memory.
  struct Places {
    DaemonState* state;
    Unit* submissions;
    HostWords* host;
    Front* front;
  };
  Daemon(Device& device, uint32_t number, const DaemonOptions& options, const Places& places);

  // All with the lock.
  [[nodiscard]] bool has_left() const;
  // Waits until it has left, or the device has failed.
  [[nodiscard]] Status make_leave();
  // Whether the device still runs the daemon, which is asked every few milliseconds. Whatever waits
  // for the daemon calls it.
  [[nodiscard]] const Status& look_after();
  [[nodiscard]] Status launch_if_left();
  [[nodiscard]] Status launch_again();
  // All that a daemon with something under way needs of its host. A failure is for good.
  [[nodiscard]] const Status& tend();
  // What the leader asks for: workers, memory of others.
  [[nodiscard]] Status serve();
  [[nodiscard]] Status write_submission(const Submission& submission);
  template <class T>
  [[nodiscard]] Status write_state(const T* field, const T& value);

  Device& device_;
  DaemonState* state_ = nullptr;
  Unit* submissions_ = nullptr;
  HostWords* host_ = nullptr;
  uint32_t number_;
  uint32_t num_workers_;
  Front* front_;
  Exports exports_;
  ProgramMemory memory_;
  MemoryPool staging_;
  std::mutex opening_;
  uint32_t num_own_regions_ = 0;  // with that lock: those that neighbours know from the beginning
  const uint64_t staging_bytes_;

  mutable std::mutex mutex_;
  Imports imports_;
  Mapper mapper_;
  Preparations preparations_;
  Status failure_;  // of the device
  uint64_t looked_after_ns_ = 0;
  uint32_t num_neighbours_ = 1;
  uint32_t num_met_ = 1;  // beyond them there is none to be looked at
  uint32_t num_submitted_ = 0;
  uint32_t num_ended_ = 0;
  std::atomic<uint32_t> launch_{0};  // the last one of the leader; written with the lock
  uint32_t workers_launch_ = 0;      // and of workers
};

}  // namespace tutti::engine::cuda
