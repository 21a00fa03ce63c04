// What operations refer to while they are under way, and communicators must therefore not take with
// them when they go: programs, which are bounded, and lists of members, which are kept as long as
// the rank, equal ones once. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "comm/program_cache.h"
#include "comm/tuning.h"
#include "engine/bound_program.h"
#include "tutti/result.h"

namespace tutti::comm {

// The programs of one place among so many ranks, whichever ranks they are.
class Programs {
 public:
  Programs(uint32_t num_ranks, Rank self, const TuningTable& tuning)
      : cache_(num_ranks, self, tuning) {}

  // As ProgramCache::find. Any thread.
  [[nodiscard]] Result<std::shared_ptr<const engine::BoundProgram>> find(const ProgramKey& key) {
    const std::lock_guard lock(mutex_);
    return cache_.find(key);
  }

 private:
  std::mutex mutex_;  // held while a program is made
  ProgramCache cache_;
};

class Shelf {
 public:
  Shelf(Rank self, uint32_t num_ranks, TuningTable tuning)
      : tuning_(std::make_shared<const TuningTable>(std::move(tuning))) {
    for (uint32_t peer = 0; peer < num_ranks; ++peer) pairs_.push_back({self, Rank{peer}, self});
  }

  [[nodiscard]] std::span<const Rank> members(std::vector<Rank> list) {
    const std::lock_guard lock(mutex_);
    return *lists_.insert(std::move(list)).first;
  }
  [[nodiscard]] const TuningTable& tuning() const { return *tuning_; }
  // One that chooses as the table does: the same again where there is one already, so that what is
  // kept does not grow with communicators that come and go.
  [[nodiscard]] std::shared_ptr<const TuningTable> keep(TuningTable tuning) {
    const std::lock_guard lock(mutex_);
    auto& kept = tables_[digest(tuning)];
    if (kept == nullptr) kept = std::make_shared<const TuningTable>(std::move(tuning));
    return kept;
  }
  // By the rank's own table, or by another, which is then kept too.
  [[nodiscard]] Programs& programs(uint32_t num_ranks, Rank self,
                                   std::shared_ptr<const TuningTable> tuning = nullptr) {
    const std::lock_guard lock(mutex_);
    if (tuning == nullptr) tuning = tuning_;
    const TuningTable& table = *tuning;
    const std::tuple key{std::move(tuning), num_ranks, self};
    return programs_.try_emplace(key, num_ranks, self, table).first->second;
  }
  // This rank and a peer, the sender first.
  [[nodiscard]] std::span<const Rank> to(Rank peer) const {
    return std::span(pairs_[peer.value]).first(2);
  }
  [[nodiscard]] std::span<const Rank> from(Rank peer) const {
    return std::span(pairs_[peer.value]).last(2);
  }

 private:
  std::mutex mutex_;
  std::set<std::vector<Rank>> lists_;
  std::shared_ptr<const TuningTable> tuning_;
  std::map<uint64_t, std::shared_ptr<const TuningTable>> tables_;  // by digest
  std::map<std::tuple<std::shared_ptr<const TuningTable>, uint32_t, Rank>, Programs> programs_;
  std::vector<std::array<Rank, 3>> pairs_;  // by peer: oneself, the peer, oneself
};

}  // namespace tutti::comm
