// Fast and slow links at once (`mixed`): trees packed on NVLink or xGMI carry most of the message,
// trees packed on PCIe, sockets and network the rest, so that both end together.
//
// Each way takes c + n / r for n bytes: c is what it costs to start (the latency of its links down
// the pipeline), r its rate, both taken from the simulator. The split makes the two times equal;
// for messages so small that the slow way would end last, nothing is left to it. The simulator then
// has the last word, beside the fast links alone: a mix is never slower than they are.
#pragma once

#include <cstdint>
#include <string>

#include "ir/schedule.h"
#include "plan/packed.h"
#include "plan/packing/pack.h"
#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::plan {

struct MixedPlan {
  packing::Packing fast;
  packing::Packing slow;  // without trees where nothing is left to it
  ir::Schedule schedule;
  uint32_t chunks = 0;
  double ns = 0;              // simulated for `bytes`
  double fast_ns = 0;         // the same without the slow links
  double slow_fraction = 0;   // of the message
  double model_fraction = 0;  // what the two times said, before simulating
  std::string why_alone;      // why nothing is left to the slow links; empty where something is
};

// c + n / r
struct Affine {
  double start_ns = 0;
  double gbps = 0;
};
// The part of `bytes` that makes both times equal; 0 where the slow way would end last anyhow.
[[nodiscard]] double split_fraction(const Affine& fast, const Affine& slow, uint64_t bytes);

// chunks 0: those that simulate fastest. Errors: those of packing::pack for the fast links.
[[nodiscard]] Result<MixedPlan> plan_mixed(const Collective& collective,
                                           const topo::Topology& topology, uint32_t chunks,
                                           uint64_t bytes);
// The same with the plan for the fast links at hand. `chunks` of both.
[[nodiscard]] Result<MixedPlan> mix_in_slow(const Collective& collective,
                                            const topo::Topology& topology, PackedPlan packed,
                                            uint32_t chunks, uint64_t bytes);

}  // namespace tutti::plan
