// How the ranks of a communicator come to know each other's daemons: over their communicator on the
// host they tell who they are and where their daemons' memory is.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/cuda/device_host.h"
#include "comm/watch.h"
#include "tutti/communicator.h"
#include "tutti/result.h"

namespace tutti::comm {

struct DeviceMembers {
  DeviceNode* node = nullptr;        // of this rank
  std::vector<uint32_t> neighbours;  // of the node: by rank
  uint64_t id = 0;                   // of the communicator: equal on all ranks, and random
  uint32_t num_workers = 0;          // that all daemons have
  bool is_far = false;               // some are in other processes:
  std::vector<Watch::Process> far;   // these
};

// All ranks call it. Liveness: as for a collective on `comm`.
[[nodiscard]] Result<DeviceMembers> introduce(Communicator comm, DeviceHost& host);

}  // namespace tutti::comm
