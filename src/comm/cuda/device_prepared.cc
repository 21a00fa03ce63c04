#include "comm/cuda/device_prepared.h"

#include <utility>

#include "base/try.h"
#include "comm/cuda/device_group.h"

namespace tutti::comm {

using engine::cuda::Device;

DevicePrepared::DevicePrepared(std::shared_ptr<DeviceGroup> group, DeviceNode& node,
                               engine::cuda::MemoryPool::Piece memory)
    : group_(std::move(group)), node_(node), memory_(std::move(memory)) {
  node_.watch().stand_by(node_.daemon());
}

Result<std::shared_ptr<DevicePrepared>> DevicePrepared::create(
    std::shared_ptr<DeviceGroup> group, DeviceNode& node, DeviceBatch& batch,
    engine::cuda::MemoryPool::Piece memory) {
  std::shared_ptr<DevicePrepared> out(
      new DevicePrepared(std::move(group), node, std::move(memory)));
  const auto requests = batch.requests();
  const auto programs = batch.programs();
  for (size_t i = 0; i < requests.size(); ++i) {
    TUTTI_ASSIGN(const auto preparation, node.daemon().prepare(requests[i]));
    out->operations_.push_back({preparation, programs[i], {}});
  }
  return out;
}

DevicePrepared::~DevicePrepared() {
  group_->forget(*this);
  for (const Operation& operation : operations_) node_.daemon().withdraw(operation.preparation);
  node_.watch().stand_down(node_.daemon());
}

Status DevicePrepared::number(const DeviceBatch& batch) {
  for (size_t i = 0; i < operations_.size(); ++i) {
    operations_[i].facts = batch.facts()[i];
    TUTTI_TRY(node_.daemon().number(operations_[i].preparation, batch.facts()[i].id));
  }
  group_->remember(*this);
  return {};
}

// None waits for another: all are triggered first.
std::vector<Device::WordStep> DevicePrepared::steps() const {
  using Kind = Device::WordStep::Kind;
  std::vector<Device::WordStep> out;
  for (const auto& [preparation, program, facts] : operations_) {
    out.push_back({Kind::kWrite, preparation.words.arm, 1});
  }
  // The same for all of them: they are of one daemon.
  if (!operations_.empty()) {
    out.push_back({Kind::kWrite, operations_.front().preparation.words.triggered, 1});
  }
  for (const auto& [preparation, program, facts] : operations_) {
    out.push_back({Kind::kAwait, preparation.words.done, 1});
    out.push_back({Kind::kWrite, preparation.words.done, 0});
  }
  return out;
}

}  // namespace tutti::comm
