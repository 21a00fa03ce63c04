// The verifier's replay of a schedule written down round by round, for people who want to watch:
// what each cell of each rank's memory holds, which messages are on their way.
//
// A round is a wave of messages: an event that takes a message is one round after all that it
// waits for, any other event is in the round of the last of these. Round 0 is what ranks do before
// any message arrives. A schedule that is refused is followed up to the fault, or, where it
// deadlocks, until nothing can run any more.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "ir/schedule.h"
#include "tutti/result.h"
#include "verify/contribution_set.h"
#include "verify/course.h"
#include "verify/meaning.h"

namespace tutti::verify {

// A chunk and whose contributions it sums; the set is a place in History::sets. What was never
// written is kAnyChunk of the empty set.
struct Held {
  ChunkId chunk = ir::kAnyChunk;
  uint32_t set = 0;

  friend bool operator==(const Held&, const Held&) = default;
};

// A cell is a position of the row of all ranks' memories: History::memory.
struct CellWrite {
  uint64_t cell = 0;
  Held value;

  friend bool operator==(const CellWrite&, const CellWrite&) = default;
};

struct Message {
  StepName sender;
  StepName taker;
  uint32_t sent_in = 0;  // round
  std::vector<Held> data;
};

struct Round {
  std::vector<StepName> steps;    // in the order of the replay
  std::vector<CellWrite> writes;  // in that order too: the last to a cell counts
  std::vector<Message> arrived;   // messages that are taken in this round
};

struct History : Course {
  std::vector<ContributionSets::Ranges> sets;  // the first is the empty set
  std::vector<RankMemory> memory;              // by rank; in place, buffers share cells
  std::vector<CellWrite> start;                // the inputs
  std::vector<CellWrite> wanted;               // what outputs must hold at the end
  std::vector<Round> rounds;
  std::vector<Message> never_taken;  // sent in a run that stopped

  // A barrier has no data. What its ranks have instead is a cell each, after all other cells: whose
  // entering a rank has heard of.
  std::optional<uint64_t> first_heard;
};

struct HistoryOptions {
  // Out of place where the schedule allows it, unless this says otherwise.
  std::optional<ir::Placement> placement = {};
  // Chunks that all writes and messages hold together; about 20 bytes each.
  uint64_t max_held = 4'000'000;
};

// kUnsupported when there is more to write down than max_held; kInvalidArgument for a placement
// that the schedule does not claim. A schedule without shape or matching has a refusal and no
// rounds.
[[nodiscard]] Result<History> write_history(const ir::Schedule& schedule,
                                            const HistoryOptions& options = {});

// The number of the last round, without a proof and without writing anything down. The schedule has
// a good shape; kMalformed for messages that do not match.
[[nodiscard]] Result<uint32_t> count_rounds(const ir::Schedule& schedule);

}  // namespace tutti::verify
