// Ranks whose collectives run in daemons, on threads of the host or on a GPU's stand-in. Each rank
// has a thread that issues its collectives in an order of its own and then waits for all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cuda/daemon.h"
#include "tests/support/cluster.h"
#include "tests/support/thread_device.h"

namespace tutti::test {

class DaemonRanks {
 public:
  DaemonRanks(uint32_t num_ranks, const engine::cuda::DaemonOptions& options);

  void add(const TestCollective::Spec& spec, std::vector<Rank> members);
  void shuffle(uint64_t seed);
  // Every rank issues its collectives, and calls `between` after each with its own number. "" when
  // all ended well; else what did not.
  std::string run(const std::function<void(uint32_t rank)>& between = {});

  // The first difference from what the collectives define, or damage; "" for none.
  [[nodiscard]] std::string difference() const;
  [[nodiscard]] ThreadDevice& device() { return device_; }
  [[nodiscard]] engine::cuda::Daemon& daemon(uint32_t rank) { return *daemons_[rank]; }
  [[nodiscard]] uint32_t num_launches() const;

 private:
  struct Issued {
    std::unique_ptr<TestCollective> collective;
    std::vector<engine::cuda::LoadedProgram> programs;  // by place
  };
  std::string run_rank(uint32_t rank, const std::function<void(uint32_t rank)>& between);

  ThreadDevice device_;
  std::vector<std::unique_ptr<engine::cuda::Daemon>> daemons_;
  std::vector<std::unique_ptr<Issued>> collectives_;
  std::vector<std::vector<size_t>> orders_;  // by rank
};

}  // namespace tutti::test
