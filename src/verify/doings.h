// What the steps of a round do, told apart further than by their kinds: the first half of an
// all-reduce sends parts of sums, the second half whole ones. For those who explain a schedule of
// more steps than they can name. Shared with overview.h; a step runs, is looked at, and is
// forgotten.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ir/schedule.h"
#include "verify/contribution_set.h"
#include "verify/facts.h"
#include "verify/meaning.h"
#include "verify/memory.h"

namespace tutti::verify {

// One of the steps that do the same, the first that ran in its round.
struct Doing {
  Rank rank;
  ir::Step step;
  bool gives_whole = false;  // a message that is the sum over all ranks, and nothing else
  bool takes_whole = false;
  bool gives_taken = false;  // it passes on, unchanged, what the rank has taken
  // The message has the chunk with the number of the rank that takes it.
  bool gives_its_own = false;
  bool takes_its_own = false;
};

// What else tells steps apart, in the eyes of whoever asks: steps with different answers are not
// taken for the same. Few answers, or there will be as many as steps.
using TraitOf = std::function<uint32_t(Rank, const ir::Step&)>;

class Doings {
 public:
  // All must outlive this; `memory` is where the buffers of each rank lie, and may still grow.
  Doings(const Facts& facts, const std::vector<RankMemory>& memory, const TraitOf& trait_of)
      : facts_(facts), memory_(memory), trait_of_(trait_of) {}

  // As Witness::ran. Adds to the round what no step has done in it yet.
  void ran(StepNumber step, const std::vector<Value>& result, const ContributionSets& sets,
           std::vector<Doing>& round);
  // The steps that follow are of another round.
  void end_round() { keys_.clear(); }

 private:
  [[nodiscard]] Doing look(StepNumber step, const std::vector<Value>& result,
                           const ContributionSets& sets) const;
  [[nodiscard]] bool was_taken(Rank rank, ir::Region region) const;
  void note_writes(Rank rank, const ir::Step& step);

  const Facts& facts_;
  const std::vector<RankMemory>& memory_;
  const TraitOf& trait_of_;
  std::vector<uint64_t> keys_;   // of the round's doings
  std::vector<bool> was_taken_;  // by address: it holds what a message brought, as it came
};

}  // namespace tutti::verify
