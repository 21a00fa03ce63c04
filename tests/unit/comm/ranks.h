// The ranks of a job in one thread, with what is inside them. Nothing here runs an engine unless a
// test does.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "comm/group.h"
#include "comm/node.h"
#include "tests/support/shm_ranks.h"
#include "transport/loopback/loopback.h"
#include "tutti/communicator.h"

namespace tutti::test {

class Ranks {
 public:
  using Write = std::function<void(uint32_t rank, std::string_view report)>;

  explicit Ranks(
      uint32_t num_ranks, const Write& write = [](uint32_t, std::string_view) {}) {
    const auto loopback = transport::Loopback::create(num_ranks).value();
    for (uint32_t r = 0; r < num_ranks; ++r) {
      add(std::make_shared<comm::Node>(loopback, loopback->endpoint(Rank{r}), comm::TuningTable(),
                                       [write, r](std::string_view report) { write(r, report); }),
          num_ranks);
    }
  }
  // As if they were processes: tests/support/shm_ranks.h.
  static Ranks processes(uint32_t num_ranks) {
    Ranks ranks;
    for (const auto& shm : shm_ranks(num_ranks)) {
      ranks.add(std::make_shared<comm::Node>(shm, shm->endpoint()), num_ranks);
    }
    return ranks;
  }

  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(groups_.size()); }
  [[nodiscard]] comm::Node& node(uint32_t rank) { return groups_[rank]->node(); }
  [[nodiscard]] const std::shared_ptr<comm::Group>& group(uint32_t rank) { return groups_[rank]; }
  [[nodiscard]] Communicator comm(uint32_t rank) { return Communicator(groups_[rank]); }

  [[nodiscard]] std::vector<Communicator> comms() const { return {groups_.begin(), groups_.end()}; }

  // Without running any engine.
  void await_idle() {
    for (uint32_t r = 0; r < size(); ++r) {
      // Liveness: the rank's own thread runs its operations; ctest's time limit ends a test whose
      // ranks do not.
      while (!node(r).engine.is_idle()) std::this_thread::yield();
    }
  }
  void await_sleep() {
    for (uint32_t r = 0; r < size(); ++r) {
      // Liveness: a rank without operations falls asleep; ctest's time limit ends a failed test.
      while (!node(r).progress->is_asleep()) std::this_thread::yield();
    }
  }

 private:
  Ranks() = default;
  void add(std::shared_ptr<comm::Node> node, uint32_t num_ranks) {
    std::vector<Rank> members;
    for (uint32_t r = 0; r < num_ranks; ++r) members.emplace_back(r);
    groups_.push_back(std::make_shared<comm::Group>(std::move(node), 1, std::move(members)));
  }

  std::vector<std::shared_ptr<comm::Group>> groups_;
};

}  // namespace tutti::test
