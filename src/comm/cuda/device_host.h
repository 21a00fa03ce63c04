// A device that ranks of this process use, and their places on it. They are kept as long as the
// host: other ranks' daemons may look at a rank's memory after its last operation has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/cuda/device_node.h"
#include "engine/cuda/device.h"
#include "tutti/result.h"

namespace tutti::comm {

class DeviceHost {
 public:
  struct Facts {
    int ordinal = 0;
    uint64_t identity = 0;  // of the device: the same in all processes
    uint64_t process = 0;   // the same for all that share addresses, and for nobody else
    // Workers of a daemon, when so many ranks share the device.
    std::function<uint32_t(uint32_t num_ranks)> workers_for;
    engine::cuda::Presence presence = {};
    // Of a rank's programs and operations, from the beginning.
    uint64_t reserved_bytes = 0;
    // For copies of what ranks in other processes do not reach yet, as soon as there are such.
    uint64_t staging_bytes = 0;
    uint64_t most_program_bytes = LoadedPrograms::kMostBytes;
  };
  DeviceHost(std::unique_ptr<engine::cuda::Device> device, Facts facts)
      : facts_(std::move(facts)), device_(std::move(device)) {}

  [[nodiscard]] const Facts& facts() const { return facts_; }
  // Of the rank that is the so-manieth in this process, in a job that has so many on the device.
  // `num_workers`: what the user wants its daemon to have; 0: what fits.
  [[nodiscard]] Result<DeviceNode*> node(uint32_t place, uint32_t num_ranks,
                                         uint32_t num_workers = 0);

 private:
  Facts facts_;
  std::unique_ptr<engine::cuda::Device> device_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<DeviceNode>> nodes_;
};

}  // namespace tutti::comm
