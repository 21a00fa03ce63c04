// One rank's place on a device: its daemon, the streams it was given, the other ranks' daemons that
// it has met, and the numbers of its communicators. All communicators of the rank share it. Any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "comm/cuda/loaded_programs.h"
#include "engine/cuda/daemon.h"
#include "engine/cuda/stream.h"
#include "engine/cuda/watch.h"
#include "tutti/result.h"

namespace tutti::comm {

class DeviceNode {
 public:
  // The device outlives it.
  static Result<std::unique_ptr<DeviceNode>> create(
      engine::cuda::Device& device, uint32_t number, const engine::cuda::DaemonOptions& options,
      uint64_t most_program_bytes = LoadedPrograms::kMostBytes);

  // Waits for what aborted communicators have left under way.
  ~DeviceNode();
  DeviceNode(const DeviceNode&) = delete;
  DeviceNode& operator=(const DeviceNode&) = delete;

  // Unlike that of any other, in this process and in others.
  [[nodiscard]] uint64_t identity() const { return identity_; }
  [[nodiscard]] engine::cuda::Device& device() { return device_; }
  [[nodiscard]] engine::cuda::Daemon& daemon() { return *daemon_; }
  [[nodiscard]] LoadedPrograms& programs() { return programs_; }
  [[nodiscard]] engine::cuda::Watch& watch() { return watch_; }
  // What is known of a stream, by its number on the device. Nobody says when a stream is destroyed,
  // so beyond a number of them one that nothing is under way in is forgotten for a new one.
  [[nodiscard]] Result<std::shared_ptr<engine::cuda::Stream>> stream(
      uint64_t id, engine::cuda::StreamHandle handle);
  [[nodiscard]] size_t num_streams();
  static constexpr size_t kManyStreams = 64;

  // Another node, as it was met last: which neighbour it is here, and this one there. Neighbours
  // count from 1; 0: it was not met yet.
  struct Met {
    uint32_t here = 0;
    uint32_t there = 0;
  };
  [[nodiscard]] Met known(uint64_t identity);
  // `kept`: what the words are in that the two tell each other something by.
  [[nodiscard]] Status meet(uint64_t identity, uint32_t neighbour,
                            const engine::cuda::Daemon::Acquaintance& other,
                            std::shared_ptr<void> kept = nullptr);

  // A number for a communicator, with which its operations are aborted.
  [[nodiscard]] Result<uint32_t> take_group();
  // Nothing of it is under way.
  void give_back_group(uint32_t group);

 private:
  DeviceNode(engine::cuda::Device& device, uint64_t most_program_bytes)
      : device_(device), programs_(most_program_bytes) {}
  // In place of one that nothing is under way in. Null: all are in use, or few.
  [[nodiscard]] std::shared_ptr<engine::cuda::Stream> take_idle_stream(uint64_t id);

  engine::cuda::Device& device_;
  uint64_t identity_ = 0;
  std::set<std::shared_ptr<void>> kept_;  // with the lock; goes after the daemon, which looks there
  std::unique_ptr<engine::cuda::Daemon> daemon_;
  LoadedPrograms programs_;
  engine::cuda::Watch watch_;

  std::mutex mutex_;  // guards what follows
  // By number. Whoever enqueues holds one, and so keeps it from being forgotten.
  std::map<uint64_t, std::shared_ptr<engine::cuda::Stream>> streams_;
  std::map<uint64_t, Met> neighbours_;  // by identity
  std::vector<uint32_t> free_groups_;
  uint32_t num_groups_ = 0;
};

}  // namespace tutti::comm
