// Calls of a communicator that were prepared, in a graph or for kernels, with all that they need:
// kept as long as somebody may trigger them, whatever becomes of the communicator's last copy.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "comm/cuda/device_batch.h"
#include "comm/cuda/device_node.h"
#include "comm/diagnosis/board.h"
#include "engine/cuda/daemon.h"
#include "engine/cuda/memory_pool.h"
#include "tutti/result.h"

namespace tutti::comm {

class DeviceGroup;

class DevicePrepared {
 public:
  struct Operation {
    engine::cuda::Daemon::Preparation preparation;
    LoadedPrograms::Program program;
    BoardEntry facts;
  };

  // Of a complete batch. Nothing of it has a number yet. `memory`: what it copies to and from.
  static Result<std::shared_ptr<DevicePrepared>> create(std::shared_ptr<DeviceGroup> group,
                                                        DeviceNode& node, DeviceBatch& batch,
                                                        engine::cuda::MemoryPool::Piece memory);
  // None is under way, and nobody triggers one any more. Not in a thread that must not use the
  // device.
  ~DevicePrepared();
  DevicePrepared(const DevicePrepared&) = delete;
  DevicePrepared& operator=(const DevicePrepared&) = delete;

  // Before the first trigger. The batch has its numbers.
  [[nodiscard]] Status number(const DeviceBatch& batch);
  [[nodiscard]] std::span<const Operation> operations() const { return operations_; }
  // What a graph does to run all of them at once.
  [[nodiscard]] std::vector<engine::cuda::Device::WordStep> steps() const;

 private:
  DevicePrepared(std::shared_ptr<DeviceGroup> group, DeviceNode& node,
                 engine::cuda::MemoryPool::Piece memory);

  std::shared_ptr<DeviceGroup> group_;  // goes last
  DeviceNode& node_;
  engine::cuda::MemoryPool::Piece memory_;
  std::vector<Operation> operations_;
};

// What a graph keeps: when it is gone, the watch's thread lets go of the calls.
class KeptByGraph {
 public:
  KeptByGraph(engine::cuda::Watch& watch, std::shared_ptr<DevicePrepared> prepared)
      : watch_(watch), prepared_(std::move(prepared)) {}
  ~KeptByGraph() { watch_.release(std::move(prepared_)); }
  KeptByGraph(const KeptByGraph&) = delete;
  KeptByGraph& operator=(const KeptByGraph&) = delete;

 private:
  engine::cuda::Watch& watch_;
  std::shared_ptr<DevicePrepared> prepared_;
};

}  // namespace tutti::comm
