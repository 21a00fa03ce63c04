// What a simulation is told besides schedule and topology: how large the data is, how messages are
// handed over, and what is wrong with the machine today.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "topo/topology.h"

namespace tutti::trace {
struct Trace;
}

namespace tutti::sim {

// How a message gets from a send to its recv; docs/reference/schedule.md has the table.
enum class Discipline : uint8_t {
  kLending,  // the taker pulls when both sides stand at the message
  kSlots,    // the sender pushes into one of schedule.slots slots of the connection
};

struct StartSkew {
  Rank rank;
  double ns = 0;  // this rank starts so much after time 0
};

struct SlowRank {
  Rank rank;
  double factor = 1;  // >= 1; what is slowed is said in docs/reference/simulator.md
};

struct SlowLink {
  topo::LinkId link;
  double factor = 1;  // >= 1: its rate is divided by this
};

struct Options {
  // The size of the whole row of blocks (ir::Sizes::even), as nccl-tests counts: the message of
  // all_reduce, reduce and broadcast; the gathered output; the scattered input; one rank's
  // all_to_all input. Must be a multiple of elem_bytes.
  uint64_t bytes = 0;
  uint32_t elem_bytes = 1;
  // Elements of each block (ir::Sizes::uneven). When not empty, `bytes` is not looked at.
  std::vector<uint64_t> block_elems = {};

  Discipline discipline = Discipline::kLending;
  std::vector<StartSkew> start_skew = {};
  std::vector<SlowRank> slow_ranks = {};
  std::vector<SlowLink> slow_links = {};
  double step_overhead_ns = 0;  // a lane is busy for this long before each step
  double copy_gbps = 0;         // rate of copy steps; 0: free

  uint32_t max_waits = 16;  // Report::waits has at most this many entries
  // What a caller who only compares times can do without.
  bool with_critical_path = true;
  bool with_bound = true;
  trace::Trace* trace = nullptr;  // when set, filled with what happened
};

}  // namespace tutti::sim
