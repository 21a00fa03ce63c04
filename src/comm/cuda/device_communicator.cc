#include <utility>

#include "base/try.h"
#include "comm/cuda/device_group.h"
#include "comm/cuda/device_prepared.h"
#include "tutti/device.h"

namespace tutti {

PreparedCall::PreparedCall(std::shared_ptr<const comm::DevicePrepared> call)
    : call_(std::move(call)) {}

DeviceTrigger PreparedCall::trigger() const {
  const auto& words = call_->operations().front().preparation.words;
  return {words.arm, words.done, words.triggered};
}

DeviceCommunicator::DeviceCommunicator(std::shared_ptr<comm::DeviceGroup> group)
    : group_(comm::DeviceGroup::for_copies(std::move(group))) {}

uint32_t DeviceCommunicator::rank() const { return group_->host().rank(); }
uint32_t DeviceCommunicator::num_ranks() const { return group_->host().num_ranks(); }
int DeviceCommunicator::device() const { return group_->ordinal(); }
const Communicator& DeviceCommunicator::host() const { return group_->host(); }

Status DeviceCommunicator::enqueue(std::span<const Call> calls, DeviceStream stream) {
  return group_->enqueue(calls, stream);
}
Result<PreparedCall> DeviceCommunicator::prepare(const Call& call) {
  TUTTI_ASSIGN(auto prepared, group_->prepare(call));
  return PreparedCall(std::move(prepared));
}
Result<bool> DeviceCommunicator::is_capturing(DeviceStream stream) const {
  return group_->is_capturing(stream);
}
Status DeviceCommunicator::status() const { return group_->status(); }
bool DeviceCommunicator::is_idle() const { return group_->is_idle(); }
Status DeviceCommunicator::finish() { return group_->finish(); }
void DeviceCommunicator::abort() { group_->abort(); }

}  // namespace tutti
