// Chooses the algorithm for a collective, a topology and a size (`--algo auto`): makes every
// algorithm of the catalogue with a few values of its options, a greedy schedule (synth/greedy.h),
// up to 64 ranks trees for short messages (quick.h) and rings along links (packing/rings.h), up to
// 16 ranks the fewest steps for the shortest messages (synth/steps/step_plan.h) and trees packed
// for the topology (packed.h), where these win also with slow links beside them (mixed.h);
// simulates each, takes the fastest, and says why. As good as the simulator; deterministic.
//
// A candidate whose schedule would have too many steps, or sends where the machine has no route, is
// not tried, and the result says so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/schedule.h"
#include "plan/algorithm.h"
#include "sim/options.h"
#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::plan {

struct Candidate {
  const Algorithm* algorithm = nullptr;
  Options options;
  uint64_t num_steps = 0;  // an estimate where it was skipped for having too many
  double ns = 0;           // simulated; meaningless where it was skipped
  std::string skipped;     // why it was not simulated; empty where it was
};

// "chain, chunks 8": the candidate as one asks for it.
[[nodiscard]] std::string describe(const Candidate& candidate);

struct Selection {
  ir::Schedule schedule;
  std::vector<Candidate> candidates;  // the fastest first, hence the winner; at the end the skipped
  std::string why;                    // what bounds the winner, and how far behind the next best is
};

struct SelectOptions {
  // What the simulation is told besides the size: discipline, slow links, ...
  sim::Options conditions;
  // Bounds the time and memory of one trial; the ring of 1024 ranks, 2 p^2 steps, fits.
  uint64_t max_steps = 4'000'000;
};

// `bytes` as sim::Options counts them. kInvalidArgument for a collective that cannot be or has more
// ranks than the topology, or whose ranks cannot reach each other; kUnsupported when no candidate
// can be tried.
[[nodiscard]] Result<Selection> select(const Collective& collective, const topo::Topology& topology,
                                       uint64_t bytes, const SelectOptions& options = {});

}  // namespace tutti::plan
