#include "comm/cuda/device_host.h"

#include "base/try.h"

namespace tutti::comm {

Result<DeviceNode*> DeviceHost::node(uint32_t place, uint32_t num_ranks, uint32_t num_workers) {
  const std::lock_guard lock(mutex_);
  while (nodes_.size() <= place) {
    const engine::cuda::DaemonOptions options{
        num_workers != 0 ? num_workers : facts_.workers_for(num_ranks), facts_.presence,
        facts_.reserved_bytes, facts_.staging_bytes};
    TUTTI_ASSIGN(auto node, DeviceNode::create(*device_, static_cast<uint32_t>(nodes_.size()),
                                               options, facts_.most_program_bytes));
    nodes_.push_back(std::move(node));
  }
  return nodes_[place].get();
}

}  // namespace tutti::comm
