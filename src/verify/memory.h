// The memory of all ranks during a replay: what every chunk position holds, and who touched it.
//
// A replay visits accesses in an order that could happen. An access is right in every other order
// too if it is ordered after the accesses that it conflicts with, so a position remembers the last
// write and the reads since: earlier ones are ordered before these. A read lasts until a given step
// has run (under lending the peer's, which takes the data), and a later write must wait for that.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "ir/schedule.h"
#include "verify/contribution_set.h"
#include "verify/facts.h"
#include "verify/meaning.h"
#include "verify/reachability.h"

namespace tutti::verify {

// Data as the verifier sees it: a piece of the collective's data and whose contributions it sums.
// What was never written is kAnyChunk of nobody.
struct Value {
  ChunkId chunk = ir::kAnyChunk;
  ContributionSet contributions;
};

class Memory {
 public:
  // Inputs hold the contributions of their ranks; the rest is not initialised.
  Memory(const Facts& facts, const ContributionSets& sets, ir::Placement placement);

  [[nodiscard]] uint64_t address(Rank rank, ir::Buffer buffer, uint32_t index) const {
    return ranks_[rank.value].address(buffer, index);
  }
  // Whether a step may write there: outputs, scratch, and input that is also output.
  [[nodiscard]] bool may_write(Rank rank, ir::Region region) const;

  [[nodiscard]] Value value(uint64_t address) const {
    return {positions_[address].chunk, positions_[address].contributions};
  }
  [[nodiscard]] bool is_initialised(uint64_t address) const {
    return positions_[address].chunk != ir::kAnyChunk;
  }
  // The step that wrote last, or kNoStep.
  [[nodiscard]] StepNumber writer(uint64_t address) const { return positions_[address].writer; }

  // A step's read that ends when `until` has run, and a step's write. Both are done in any case and
  // return kNoStep, or the access that is not ordered before it: a writer, or where a read ends.
  [[nodiscard]] StepNumber read(uint64_t address, StepNumber step, StepNumber until,
                                Reachability& order);
  [[nodiscard]] StepNumber write(uint64_t address, StepNumber step, Value value,
                                 Reachability& order);

 private:
  static constexpr uint32_t kNoMore = UINT32_MAX;

  struct Position {
    ContributionSet contributions;
    ChunkId chunk = ir::kAnyChunk;
    StepNumber writer = kNoStep;
    StepNumber reader = kNoStep;  // where the latest read since the write ends
    uint32_t more_readers = kNoMore;
  };
  static_assert(sizeof(Position) == 24, "a ring of 4,096 ranks has 33 million of these");

  struct Reader {
    StepNumber until;
    uint32_t next;
  };

  [[nodiscard]] StepNumber find_conflict(const Position& position, StepNumber step,
                                         Reachability& order) const;
  void remember_reader(Position& position, StepNumber until);
  void forget_readers(Position& position);

  const Facts* facts_;
  std::vector<RankMemory> ranks_;
  std::vector<Position> positions_;
  std::vector<Reader> readers_;  // lists that start at more_readers
  uint32_t free_reader_ = kNoMore;
};

}  // namespace tutti::verify
