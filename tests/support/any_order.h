// Collectives that every rank issues in an order of its own, while ranks have turns at random: one
// thread plays all of them, and the same seed plays it again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/support/cluster.h"

namespace tutti::test {

class AnyOrder {
 public:
  AnyOrder(uint32_t num_ranks, uint64_t seed, Reach reach = Reach::kThreads)
      : cluster_(num_ranks, reach),
        random_(seed),
        works_(num_ranks),
        running_(num_ranks),
        ended_(num_ranks) {}

  void add(const TestCollective::Spec& spec, std::vector<Rank> members);

  // Orders of each rank: those of its collectives, shuffled, or as given.
  void shuffle();
  void set_orders(std::vector<std::vector<size_t>> orders) { orders_ = std::move(orders); }

  // Every rank issues all of its own before any rank listens.
  void issue_all();
  // Runs until nothing is left to do, or nothing moves any more. How many are left.
  size_t run();

  [[nodiscard]] std::string difference() const;
  // Operations that are under way, and memory that is in use.
  [[nodiscard]] size_t left_behind();
  [[nodiscard]] size_t num_issued() const;

  // A rank's operations as it issued them (null: over at once), and the collectives as they ended
  // there.
  [[nodiscard]] const std::vector<engine::Operation*>& works(uint32_t rank) const {
    return works_[rank];
  }
  [[nodiscard]] const std::vector<size_t>& ended(uint32_t rank) const { return ended_[rank]; }
  [[nodiscard]] Cluster& cluster() { return cluster_; }

 private:
  [[nodiscard]] size_t place_of(size_t collective, uint32_t rank) const;
  void issue(uint32_t rank);
  void note_ended(uint32_t rank);

  Cluster cluster_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<TestCollective>> collectives_;
  std::vector<std::vector<size_t>> orders_;             // by rank
  std::vector<std::vector<engine::Operation*>> works_;  // by rank, as in its order
  std::vector<std::vector<size_t>> running_;            // which of them
  std::vector<std::vector<size_t>> ended_;
};

// Something of everything: kinds, algorithms, sizes, roots.
[[nodiscard]] const std::vector<TestCollective::Spec>& mixed_collectives();

}  // namespace tutti::test
