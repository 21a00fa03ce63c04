// What of a communicator is begun by others than its host: calls in graphs, and calls that kernels
// trigger.
#include <algorithm>
#include <utility>

#include "base/try.h"
#include "comm/cuda/device_group.h"
#include "comm/cuda/device_prepared.h"

namespace tutti::comm {

using engine::cuda::Completion;
using engine::cuda::MemoryPool;
using engine::cuda::Outcome;
using engine::cuda::StreamHandle;

namespace {

Status copy_all(engine::cuda::Device& device, StreamHandle stream,
                std::span<const engine::cuda::Stream::Copy> copies) {
  for (const auto& copy : copies) {
    if (copy.bytes != 0) TUTTI_TRY(device.copy(stream, copy.to, copy.from, copy.bytes));
  }
  return {};
}

}  // namespace

DeviceBatch DeviceGroup::new_batch() {
  return DeviceBatch({comm_.group()->members(), self_, group_, members_, programs_});
}

Result<bool> DeviceGroup::is_capturing(StreamHandle stream) {
  return members_.node->device().is_recording(stream);
}

// Numbered when nothing is refused any more: then each replay is the next use of that number.
Status DeviceGroup::capture(std::span<const Call> calls, StreamHandle stream) {
  DeviceNode& node = *members_.node;
  engine::cuda::Device& device = node.device();
  DeviceBatch batch = new_batch();
  for (const Call& call : calls) TUTTI_TRY(batch.add(call));
  // Its own, since nobody knows which stream a graph will be launched in.
  MemoryPool::Piece memory;
  TUTTI_TRY(batch.complete({.take = [&](uint64_t bytes) -> Result<std::byte*> {
    TUTTI_ASSIGN(memory, node.daemon().memory().device.take(bytes, 0));
    return memory.at();
  }}));
  TUTTI_ASSIGN(const auto prepared,
               DevicePrepared::create(shared_from_this(), node, batch, std::move(memory)));
  TUTTI_TRY(device.keep_for(stream, std::make_shared<KeptByGraph>(node.watch(), prepared)));
  batch.number(numbers_);
  TUTTI_TRY(prepared->number(batch));
  TUTTI_TRY(copy_all(device, stream, batch.before()));
  TUTTI_TRY(device.record(stream, prepared->steps()));
  return copy_all(device, stream, batch.after());
}

Result<std::shared_ptr<DevicePrepared>> DeviceGroup::prepare(const Call& call) {
  {
    const std::lock_guard lock(mutex_);
    TUTTI_TRY(may_call());
  }
  DeviceBatch batch = new_batch();
  TUTTI_TRY(batch.add(call));
  TUTTI_TRY(batch.complete({.take = [](uint64_t /*bytes*/) -> Result<std::byte*> {
    return Error{ErrorCode::kUnsupported,
                 "nobody copies what a kernel triggers: ranks in other processes must reach its "
                 "buffers, as they reach those of allocate_on_device"};
  }}));
  if (batch.requests().size() != 1) {
    return Error{ErrorCode::kUnsupported,
                 "a kernel triggers one operation: no exchange, and no message to oneself"};
  }
  TUTTI_ASSIGN(auto prepared,
               DevicePrepared::create(shared_from_this(), *members_.node, batch, {}));
  batch.number(numbers_);
  TUTTI_TRY(prepared->number(batch));
  return prepared;
}

void DeviceGroup::remember(const DevicePrepared& prepared) {
  for (const auto& [preparation, program, facts] : prepared.operations()) {
    const Completion* const told = preparation.ticket.slot.completion;
    node().elsewhere.prepared(facts, [told, &daemon = members_.node->daemon()] {
      const bool has_failed = engine::cuda::Preparations::failure_of(*told).outcome !=
                              static_cast<uint32_t>(Outcome::kUnderWay);
      return Elsewhere::Seen{daemon.launch_here(), has_failed};
    });
  }
  node().notice();
  const std::lock_guard lock(prepared_mutex_);
  prepared_.push_back(&prepared);
}

void DeviceGroup::forget(const DevicePrepared& prepared) {
  for (const auto& operation : prepared.operations()) {
    node().elsewhere.unprepared(operation.facts.id);
  }
  hear_of_prepared();
  const std::lock_guard lock(prepared_mutex_);
  std::erase(prepared_, &prepared);
}

// The host hears nothing of them but when it asks.
void DeviceGroup::hear_of_prepared() {
  const std::lock_guard lock(prepared_mutex_);
  for (const DevicePrepared* prepared : prepared_) {
    for (const auto& [preparation, program, facts] : prepared->operations()) {
      const Completion how =
          engine::cuda::Preparations::failure_of(*preparation.ticket.slot.completion);
      if (how.outcome != static_cast<uint32_t>(Outcome::kUnderWay)) fail(error_of(facts, how));
    }
  }
  if (prepared_.empty()) return;
  if (Status lost = members_.node->daemon().failure(); !lost) fail(std::move(lost.error()));
}

}  // namespace tutti::comm
