// What a daemon keeps between two launches: all of it. A launch reads it, runs, and leaves it as
// good as it was found, so leaving costs nothing and nothing is lost by it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/cuda/context.h"
#include "engine/cuda/wire.h"
#include "engine/task_queue.h"

namespace tutti::engine::cuda {

inline constexpr uint32_t kMostRanks = 64;   // of one group of daemons
inline constexpr uint32_t kMostBlocks = 65;  // the leader and its workers
inline constexpr uint32_t kSubmissions = 1024;
inline constexpr uint32_t kLetters = 64;      // of a mailbox
inline constexpr uint32_t kBuckets = 256;     // of the tables of operations
inline constexpr uint32_t kPublished = 1024;  // wide operations that workers have not taken in

// A rank of the group, as another one sees it.
struct Neighbour {
  Unit* mailbox_there;   // where this rank writes to it
  Unit* mailbox_here;    // where it writes to this rank
  uint32_t* read_there;  // how many of this rank's letters it has read: a word of this rank
  uint32_t* read_by_us;  // how many of its letters this rank has read: a word of that rank
  uint32_t num_written;
  uint32_t num_read;
  uint32_t num_known;  // of read_there, as it was looked at last
  uint32_t unused;
};

// In memory of the host.
struct HostWords {
  uint32_t num_taken;  // submissions that the daemon has read
  uint32_t left;       // the last launch that has ended
  uint32_t leave;      // asks the launch of that number to end
  uint32_t abort;      // everything under way ends
};

struct Presence {
  uint64_t linger_ns = 200'000;   // with nothing under way
  uint64_t stay_ns = 10'000'000;  // at most, so that whoever waits for the whole device goes on
};

// Of one launch of a block. A look costs about as much as leaving an operation does.
struct BlockQueue : TaskQueue {
  TUTTI_BOTH BlockQueue() : TaskQueue({.turns = 8, .looks = 4}) {}
};

// The leader's own, which it has in fast memory while it runs.
struct LeaderState {
  uint32_t num_submitted;
  uint32_t num_pending;  // submissions that have not started
  uint32_t num_started;  // operations that workers run
  StampClock clock;
  StreamWords* streams;  // with operations that they have not come to
  Context* to_greet;     // members of these were not all told
  Context* ready;        // to be started in this round
  Context* operations[kBuckets];
  EarlyNode* early[kBuckets];
  uint32_t num_known_taken;  // of what was published: by all workers
  uint32_t unused;
  uint8_t num_waited[kMostRanks];  // rounds that a letter of each rank has waited for the call here
  Neighbour neighbours[kMostRanks];
};
static_assert(sizeof(LeaderState) % 8 == 0 && std::is_trivially_copyable_v<LeaderState>);

// What a leader spends its time on, counted in builds with TUTTI_DAEMON_STAGES: each stage from the
// end of the one before.
enum class Stage : uint8_t { kLook, kTake, kIssue, kGreet, kHear, kStart, kRun, kFold, kEnd };
inline constexpr uint32_t kNumStages = 9;

struct Stages {
  uint64_t cycles[kNumStages];
  uint64_t times[kNumStages];
};

struct DaemonState {
  uint32_t self;
  uint32_t num_ranks;
  uint32_t num_blocks;  // the leader's included
  uint32_t is_aborted;
  Presence presence;
  const Unit* submissions;  // in memory of the host
  HostWords* host;
  LeaderState leader;

  // Between leader and workers.
  uint32_t leaving;  // the launch whose blocks leave
  uint32_t num_published;
  uint32_t num_over;  // of those started
  Context* published[kPublished];
  uint32_t num_taken_in[kMostBlocks];
  Part* resting[kMostBlocks];  // what each block goes on with in its next launch
  Stages stages;
};

}  // namespace tutti::engine::cuda
