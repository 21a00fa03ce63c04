// What a communicator on a device is inside: members, names, and what is under way. It lives as
// long as somebody can call it, and as long as operations are under way. Any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "comm/call_numbers.h"
#include "comm/cuda/device_members.h"
#include "comm/cuda/device_programs.h"
#include "comm/diagnosis/board.h"
#include "comm/group.h"
#include "comm/node.h"
#include "comm/watch.h"
#include "engine/cuda/watch.h"
#include "tutti/communicator.h"
#include "tutti/result.h"

namespace tutti::comm {

class DeviceBatch;
class DevicePrepared;

class DeviceGroup : public engine::cuda::Ending, public std::enable_shared_from_this<DeviceGroup> {
 public:
  // All ranks of `comm` call it. The host outlives it.
  static Result<std::shared_ptr<DeviceGroup>> create(const Communicator& comm, DeviceHost& host);
  // For those who call it: the last copy waits for what was enqueued, unless it was aborted.
  static std::shared_ptr<DeviceGroup> for_copies(std::shared_ptr<DeviceGroup> group);
  // Nothing is under way. Waits for nobody: it may be called by the thread that watches operations.
  ~DeviceGroup() override;

  [[nodiscard]] const Communicator& host() const { return comm_; }
  [[nodiscard]] int ordinal() const { return ordinal_; }

  // As in tutti/device.h.
  Status enqueue(std::span<const Call> calls, engine::cuda::StreamHandle stream);
  Result<std::shared_ptr<DevicePrepared>> prepare(const Call& call);
  Result<bool> is_capturing(engine::cuda::StreamHandle stream);
  [[nodiscard]] Status status();
  [[nodiscard]] bool is_idle() const;
  Status finish();
  void abort();

  // While it lives, its failures are this communicator's.
  void remember(const DevicePrepared& prepared);
  void forget(const DevicePrepared& prepared);

 private:
  DeviceGroup(const Communicator& comm, int ordinal, DeviceMembers members);

  void began(const engine::cuda::DeviceRequest& request) override;
  void ended(uint64_t operation, const engine::cuda::Completion& how) override;
  void began_copies() override;
  void ended_copies(const Status& how) override;
  // Records the calls in the graph that the stream is captured for.
  Status capture(std::span<const Call> calls, engine::cuda::StreamHandle stream);
  [[nodiscard]] DeviceBatch new_batch();
  // With the lock.
  [[nodiscard]] Status may_call() const { return is_ended_ ? first_failure_ : Status(); }
  void hear_of_prepared();
  // Something more is under way, or less.
  void count_up();
  void count_down();
  // Says which operation it was, and who did what.
  [[nodiscard]] Error error_of(const BoardEntry& facts, const engine::cuda::Completion& how) const;
  [[nodiscard]] uint32_t rank_of(const BoardEntry& facts, uint32_t member) const;
  void fail(Error error);
  // Ends what is under way: nobody else has to hear of it.
  void end_all(Error error);
  void lose(Watch::Process dead);
  void let_go();

  [[nodiscard]] Node& node() const { return comm_.group()->node(); }

  Communicator comm_;
  int ordinal_;
  uint32_t self_;
  DeviceMembers members_;
  uint32_t group_ = 0;
  CallNumbers numbers_;
  DevicePrograms programs_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  uint64_t num_under_way_ = 0;
  // Itself, while something is under way: an aborted one may be let go of before that is over.
  std::shared_ptr<DeviceGroup> kept_;
  bool is_ended_ = false;    // nothing more is taken
  bool is_aborted_ = false;  // by its user, who does not wait
  Status first_failure_;

  std::mutex prepared_mutex_;  // guards what follows; comes before the other one
  std::vector<const DevicePrepared*> prepared_;

  std::unique_ptr<Watch> deaths_;  // of members in other processes; goes first
};

}  // namespace tutti::comm
