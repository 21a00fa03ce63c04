// What a daemon keeps between two launches: all of it. A launch reads it, runs, and leaves it as
// good as it was found, so leaving costs nothing and nothing is lost by it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/cuda/context.h"
#include "engine/cuda/device.h"
#include "engine/cuda/wire.h"
#include "engine/task_queue.h"

namespace tutti::engine::cuda {

struct PreparedTable;

inline constexpr uint32_t kMostRanks = 64;   // of one group of daemons
inline constexpr uint32_t kMostBlocks = 65;  // the leader and its workers
inline constexpr uint32_t kSubmissions = 1024;
inline constexpr uint32_t kLetters = 64;      // of a mailbox
inline constexpr uint32_t kBuckets = 256;     // of the tables of operations
inline constexpr uint32_t kPublished = 1024;  // wide operations that workers have not taken in

inline constexpr uint32_t kMostGroups = 256;  // whose operations are aborted together
inline constexpr uint32_t kMostRegions =
    1024;  // of memory that a daemon shares with other processes

// Where a neighbour writes to a daemon.
struct alignas(128) Door {
  Unit letters[kLetters * kHelloUnits];
  uint32_t num_read;  // by the neighbour, of the letters to it
};

// What a daemon shows to others, in its memory.
struct Front {
  Door doors[kMostRanks];  // by neighbour
  SharedRegion regions[kMostRegions];
  uint64_t bases[kMostRegions];  // of the same, for leaders in its own process
};

// Another daemon, or this one itself, as this one sees it.
struct Neighbour {
  Unit* mailbox_there;   // where this rank writes to it
  Unit* mailbox_here;    // where it writes to this rank
  uint32_t* read_there;  // how many of this rank's letters it has read: a word of this rank
  uint32_t* read_by_us;  // how many of its letters this rank has read: a word of that rank
  uint32_t num_written;
  uint32_t num_read;
  uint32_t num_known;  // of read_there, as it was looked at last
  uint32_t unused;
  // Where each region of its memory is here; 0: not known yet. Of one in this process, in its
  // front.
  const uint64_t* regions;
};
inline constexpr uint64_t kUnreachableRegion = UINT64_MAX;  // it cannot be mapped

// In memory of the host.
struct HostWords {
  uint32_t num_taken;  // submissions that the daemon has read
  uint32_t leaving;    // the launch that is about to end, unless something was submitted
  uint32_t left;       // the last launch that has ended
  uint32_t leave;      // asks the launch of that number to end
  uint32_t workers;    // the launch of workers that the leader asks for
  uint32_t wanted;     // a region of a neighbour's memory that must be reached
  // By the host: submissions that are about to be written, before which the daemon does not leave.
  uint32_t num_expected;
  uint32_t triggered;  // something was triggered since the last launch, or was under way at its end
};

// Never 0: regions count from 1.
[[nodiscard]] TUTTI_BOTH inline uint32_t wanted_word(uint32_t neighbour, uint32_t region) {
  return neighbour << 16 | region;
}

struct Presence {
  uint64_t linger_ns = 200'000;  // with nothing under way
  // At most, so that whoever waits for the whole device goes on; unless a stream waits for the
  // daemon, since then it waits for that stream.
  uint64_t stay_ns = 50'000'000;
  // Workers take whole multiprocessors: without work they go sooner.
  uint64_t workers_linger_ns = 100'000;
  // So long the leader waits for workers before it does their work: who launches them may himself
  // wait for what waits for it.
  uint64_t patience_ns = 2'000'000;
  // So long workers that are all here may stand still: blocks of peers that they wait for may have
  // no room beside them. Then they go, and the leader does their work.
  uint64_t standstill_ns = 10'000'000;
  // So long an operation that could be over at once (at_once.h) waits for its members, and nothing
  // else is done here; much less if there is something else to do. Ranks that call together are
  // some microseconds apart.
  uint64_t meet_ns = 50'000;
};

// Of one launch of a block. A look costs about as much as leaving an operation does.
struct BlockQueue : TaskQueue {
  TUTTI_BOTH BlockQueue() : TaskQueue({.turns = 8, .looks = 4}) {}
};

// Operations of streams that have not come to them: so many lie at hand, the rest at home.
inline constexpr uint32_t kParked = 8;
inline constexpr uint32_t kAllParked = (1U << kParked) - 1;

// The leader's own, which it has in fast memory while it runs.
struct LeaderState {
  uint32_t num_submitted;
  uint32_t num_pending;   // operations that have begun and wait for members
  uint32_t num_started;   // wide operations
  uint32_t num_streamed;  // operations of streams that were submitted
  StampClock clock;
  StreamWords* streams;  // with operations that they have not come to
  Context* to_greet;     // members of these were not all told
  Context* ready;        // to be started in this round
  Context* waiting;      // for workers
  uint64_t waiting_since_ns;
  uint32_t workers;           // the last launch of them that was asked for,
  uint32_t has_workers;       // and whether all of it is here
  uint32_t takes_over;        // what they leave, when they are gone
  uint32_t num_known_moves;   // of workers,
  uint64_t watched_since_ns;  // as they were looked at then
  Context* operations[kBuckets];
  EarlyNode* early[kBuckets];
  uint32_t num_known_taken;  // of what was published: by all workers
  uint32_t parked_mask;      // which of these are used
  Submission parked[kParked];
  Submission from_home;       // that has begun
  uint32_t num_at_once;       // operations that were over at once
  uint32_t num_vain_at_once;  // in a row that were not,
  uint32_t num_to_skip;       // and how many now do not try
  uint32_t unused;
  uint8_t num_waited[kMostRanks];  // rounds that a letter of each rank has waited for the call here
  Neighbour neighbours[kMostRanks];
};
static_assert(sizeof(LeaderState) % 8 == 0 && std::is_trivially_copyable_v<LeaderState>);

// Of one launch of a leader, which looks at them now and then: its registers are few.
struct LeaderTimes {
  uint64_t begin;
  uint64_t moved;  // when it moved last,
  uint64_t wide;   // had wide operations,
  uint64_t ended;  // and looked for late ones
  uint32_t num_rounds;
  uint32_t had_workers;
  uint32_t has_moved;  // since the last look
};

// What a leader spends its time on, counted in builds with TUTTI_DAEMON_STAGES: each stage from the
// end of the one before.
enum class Stage : uint8_t { kLook, kTake, kIssue, kGreet, kHear, kStart, kRun, kFold, kEnd };
inline constexpr uint32_t kNumStages = 9;

struct Stages {
  uint64_t cycles[kNumStages];
  uint64_t times[kNumStages];
};

// A wide operation, for workers. Who has no part in it does not look at its home: it may be over,
// and its memory another's.
struct Published {
  Context* home;
  uint32_t num_parts;
  uint32_t is_passed;  // its record lies there: see Block::pass
};

struct DaemonState {
  uint32_t self;        // among the neighbours
  uint32_t num_ranks;   // neighbours, this one included
  uint32_t num_blocks;  // the leader's included
  uint32_t unused;
  Presence presence;
  const Unit* submissions;  // in memory of the host
  HostWords* host;
  LeaderState leader;

  // By the host: operations that may be triggered (triggers.h), and how many are looked at.
  PreparedTable* prepared;
  uint32_t num_prepared;
  uint32_t unused_too;

  uint32_t aborted[kMostGroups];  // by the host

  // Between leader and workers.
  uint32_t workers_here;     // the last launch of workers that has begun
  uint32_t num_present;      // blocks of it that are here
  uint32_t workers_leaving;  // the last one that is told to end
  uint32_t num_published;
  uint32_t num_over;           // of those started
  uint32_t num_streamed_over;  // of those of streams
  Published published[kPublished];
  uint32_t num_taken_in[kMostBlocks];
  uint32_t num_moves[kMostBlocks];  // turns of each worker that moved something
  Part* resting[kMostBlocks];       // what each block goes on with in its next launch
  Stages stages;
};

}  // namespace tutti::engine::cuda
