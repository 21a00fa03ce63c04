// What a simulation found: how long, where the time went, and how far from the best possible.
// All times are ns from time 0, at which ranks without skew start.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "ir/step.h"
#include "sim/lower_bound.h"
#include "topo/topology.h"

namespace tutti::sim {

struct LinkUse {
  double bytes = 0;        // that crossed it
  double busy_ns = 0;      // at least one message was crossing
  double utilisation = 0;  // bytes / (its rate * total time), 0 .. 1
};

enum class SliceKind : uint8_t {
  kWait,      // for a late start, or behind another message of the connection
  kOverhead,  // Options::step_overhead_ns
  kLatency,   // of the message's route
  kTransfer,  // bytes on the links
  kReduce,
  kCopy,
};
[[nodiscard]] std::string_view to_string(SliceKind kind) noexcept;

// A piece of the critical path. Transfers belong to the step that takes the message.
struct Slice {
  SliceKind kind = SliceKind::kWait;
  Rank rank;
  ir::StepRef step;
  Rank peer = kNoRank;  // the other end, for latency and transfer
  double begin_ns = 0;
  double end_ns = 0;
};

// How long lanes of `rank` stood ready for a message, or for its being taken, while `on` was not.
struct Wait {
  Rank rank;
  Rank on;
  double ns = 0;
};

struct Report {
  double total_ns = 0;                 // when the last step has run
  std::vector<double> rank_finish_ns;  // of a rank without steps: its start
  uint64_t num_steps = 0;
  uint64_t num_messages = 0;
  double message_bytes = 0;  // payload of all messages together

  std::vector<LinkUse> links;  // indexed by topo::LinkId
  // From time 0 to total_ns without gaps, in order of time.
  std::vector<Slice> critical_path;
  std::vector<Wait> waits;           // the longest first
  std::vector<double> rank_wait_ns;  // of all lanes of the rank together

  LowerBound bound;
  double ratio = 0;  // total_ns / bound.ns(); 0 when the bound is 0
};

}  // namespace tutti::sim
