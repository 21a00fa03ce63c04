#include "comm/cuda/device_node.h"

#include <random>
#include <utility>

#include "base/try.h"

namespace tutti::comm {

Result<std::unique_ptr<DeviceNode>> DeviceNode::create(engine::cuda::Device& device,
                                                       uint32_t number,
                                                       const engine::cuda::DaemonOptions& options,
                                                       uint64_t most_program_bytes) {
  std::unique_ptr<DeviceNode> node(new DeviceNode(device, most_program_bytes));
  TUTTI_ASSIGN(node->daemon_, engine::cuda::Daemon::create(device, number, options));
  std::random_device random;
  node->identity_ = uint64_t{random()} << 32 | random();
  return node;
}

DeviceNode::~DeviceNode() {
  // Liveness: streams come to what is in them, and it ends, at its deadline if not before.
  watch_.wait_for_all();
}

Result<std::shared_ptr<engine::cuda::Stream>> DeviceNode::stream(
    uint64_t id, engine::cuda::StreamHandle handle) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = streams_.find(id); known != streams_.end()) return known->second;
  }
  // Without the lock: the device is asked for something.
  TUTTI_TRY(device_.settle(handle));
  if (auto forgotten = take_idle_stream(id)) return forgotten;
  TUTTI_ASSIGN(std::shared_ptr<engine::cuda::Stream> made,
               engine::cuda::Stream::create(device_, *daemon_, watch_));
  const std::lock_guard lock(mutex_);
  // Another thread may have been faster with the same stream.
  return streams_.emplace(id, std::move(made)).first->second;
}

std::shared_ptr<engine::cuda::Stream> DeviceNode::take_idle_stream(uint64_t id) {
  const std::lock_guard lock(mutex_);
  // Another thread may have been faster with the same stream.
  if (const auto found = streams_.find(id); found != streams_.end()) return found->second;
  if (streams_.size() < kManyStreams) return nullptr;
  for (auto at = streams_.begin(); at != streams_.end(); ++at) {
    if (at->second.use_count() != 1 || !at->second->is_idle()) continue;
    std::shared_ptr<engine::cuda::Stream> stream = std::move(at->second);
    streams_.erase(at);
    stream->begin_anew();
    return streams_.emplace(id, std::move(stream)).first->second;
  }
  return nullptr;
}

size_t DeviceNode::num_streams() {
  const std::lock_guard lock(mutex_);
  return streams_.size();
}

DeviceNode::Met DeviceNode::known(uint64_t identity) {
  const std::lock_guard lock(mutex_);
  const auto found = neighbours_.find(identity);
  return found != neighbours_.end() ? found->second : Met{};
}

Status DeviceNode::meet(uint64_t identity, uint32_t neighbour,
                        const engine::cuda::Daemon::Acquaintance& other,
                        std::shared_ptr<void> kept) {
  if (other.link.here != nullptr) {
    const std::lock_guard lock(mutex_);
    kept_.insert(std::move(kept));
  }
  TUTTI_TRY(daemon_->meet(neighbour, other));
  const std::lock_guard lock(mutex_);
  neighbours_[identity] = {neighbour, other.door};
  return {};
}

Result<uint32_t> DeviceNode::take_group() {
  const std::lock_guard lock(mutex_);
  if (!free_groups_.empty()) {
    const uint32_t group = free_groups_.back();
    free_groups_.pop_back();
    return group;
  }
  if (num_groups_ == engine::cuda::kMostGroups) {
    return Error{ErrorCode::kUnsupported, "a rank has at most 256 communicators on a device"};
  }
  return num_groups_++;
}

void DeviceNode::give_back_group(uint32_t group) {
  if (!daemon_->forget(group)) return;  // the device has failed: it is not used again
  const std::lock_guard lock(mutex_);
  free_groups_.push_back(group);
}

}  // namespace tutti::comm
