// Programs by what they do: a schedule is planned and proved once a shape, and bound once a size.
// Training repeats its calls, so after the first step every call finds its program here. Bounded:
// what was not asked for the longest is forgotten, and made again when it is asked for again.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "comm/tuning.h"
#include "engine/bound_program.h"
#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::comm {

struct ProgramKey {
  CollectiveKind kind = CollectiveKind::kBarrier;
  uint32_t elem_bytes = 1;
  uint32_t root = 0;
  uint64_t row_elems = 0;        // even calls
  std::vector<uint64_t> counts;  // uneven calls, one a block

  friend auto operator<=>(const ProgramKey&, const ProgramKey&) = default;
};

class ProgramCache {
 public:
  // Programs of a few steps take 1 to 4 KiB, the largest among 8 ranks 200 KiB.
  static constexpr size_t kMostBytes = size_t{16} << 20;

  // The table must outlive the cache.
  ProgramCache(uint32_t num_ranks, Rank self, const TuningTable& tuning,
               size_t most_bytes = kMostBytes)
      : num_ranks_(num_ranks), self_(self), tuning_(tuning), most_bytes_(most_bytes) {}

  // One thread at a time. The caller keeps the pointer until the engine has taken the program over:
  // from then on its operations keep the program here (engine::UseCount).
  [[nodiscard]] Result<std::shared_ptr<const engine::BoundProgram>> find(const ProgramKey& key);

  // At most `most_bytes`, and beyond it what is in use and the program found last.
  [[nodiscard]] size_t bytes() const { return bytes_; }
  [[nodiscard]] size_t num_programs() const { return programs_.size(); }

 private:
  struct Entry {
    const ProgramKey* key;  // in the map
    std::shared_ptr<const engine::BoundProgram> program;
    size_t bytes;
  };

  Result<std::shared_ptr<const engine::BoundProgram>> make(const ProgramKey& key) const;
  void forget_oldest();

  uint32_t num_ranks_;
  Rank self_;
  const TuningTable& tuning_;
  size_t most_bytes_;
  size_t bytes_ = 0;
  std::list<Entry> by_use_;  // the one asked for last comes first
  std::map<ProgramKey, std::list<Entry>::iterator> programs_;
};

}  // namespace tutti::comm
