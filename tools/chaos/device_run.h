// A rank's run through all rounds on a GPU: enqueues every task of a round in streams, as
// device_plan.h says, waits for the streams, and compares every element. Rounds in any order and
// rounds in one order alternate, as in rank_run.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tools/chaos/device_exchange.h"
#include "tools/chaos/gpu.h"
#include "tools/chaos/rank_run.h"
#include "tools/chaos/settings.h"
#include "tools/chaos/workload.h"
#include "tutti/communicator.h"
#include "tutti/device.h"
#include "tutti/result.h"

namespace tutti::tools::chaos {

// What a rank has on its GPU from run to run: memory that was given back stays mapped in other
// processes, so it is used again.
class DeviceSeat {
 public:
  explicit DeviceSeat(Gpu& gpu) : gpu_(gpu) {}

  [[nodiscard]] Gpu& gpu() { return gpu_; }
  // The first ones of the same streams, always.
  [[nodiscard]] Result<std::vector<DeviceStream>> streams(uint32_t num);
  // At least so much, what was there is forgotten. Nothing is under way on any rank.
  [[nodiscard]] Result<std::byte*> memory(uint64_t bytes);

 private:
  Gpu& gpu_;
  std::vector<DeviceStream> streams_;
  std::byte* memory_ = nullptr;
  uint64_t bytes_ = 0;
};

class DeviceRun {
 public:
  // Makes the groups and buffers. All ranks call it, with nothing under way. All outlive the run.
  static Result<std::unique_ptr<DeviceRun>> prepare(const Settings& settings,
                                                    const Communicator& world, DeviceSeat& seat);

  [[nodiscard]] Status run();
  [[nodiscard]] const RankTally& tally() const { return tally_; }
  [[nodiscard]] const Workload& workload() const { return workload_; }

 private:
  DeviceRun(const Settings& settings, const Communicator& world, DeviceSeat& seat)
      : settings_(settings),
        world_(world),
        seat_(seat),
        gpu_(seat.gpu()),
        workload_(make_workload(settings)) {}

  Status make_groups();
  Status make_exchanges();
  Status run_round(uint64_t round, Order order);
  Status run_batch(const Batch& batch);
  Status enqueue(const Act& act, const Batch& batch, uint32_t position);
  Status wait_at_end(const DevicePlan& plan);
  Status wait_for_device(DeviceWait how);
  // All ranks are there.
  Status meet();
  // Sometimes, before a task: this thread pauses, or the stream does.
  Status pause_sometimes(const Batch& batch, uint32_t position, DeviceStream stream);
  Status finish_groups(uint64_t round);
  Status check(uint64_t round, Order order);

  const Settings& settings_;
  Communicator world_;
  DeviceSeat& seat_;
  Gpu& gpu_;
  Workload workload_;
  std::vector<DeviceStream> streams_;
  std::vector<std::optional<DeviceCommunicator>> groups_;   // those that this rank is in
  std::vector<std::unique_ptr<DeviceExchange>> exchanges_;  // by task; null: not in its group
  RankTally tally_;
};

}  // namespace tutti::tools::chaos
