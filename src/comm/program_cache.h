// Programs by what they do: a schedule is planned and proved once a shape, and bound once a size.
// Training repeats its calls, so after the first step every call finds its program here.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

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
  ProgramCache(uint32_t num_ranks, Rank self) : num_ranks_(num_ranks), self_(self) {}

  // Valid as long as the cache. One thread at a time.
  [[nodiscard]] Result<const engine::BoundProgram*> find(const ProgramKey& key);

 private:
  Result<std::unique_ptr<engine::BoundProgram>> make(const ProgramKey& key) const;

  uint32_t num_ranks_;
  Rank self_;
  std::map<ProgramKey, std::unique_ptr<engine::BoundProgram>> programs_;
  // The last one asked for: most calls are like the one before.
  const ProgramKey* last_key_ = nullptr;
  const engine::BoundProgram* last_ = nullptr;
};

}  // namespace tutti::comm
