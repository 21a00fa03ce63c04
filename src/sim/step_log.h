// What is known of each step while the simulation runs: how far it is, when it ran and what it had
// waited for last. The critical path is read from it afterwards. One record a step, since a step
// that moves touches most of its fields and there are millions of them.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/program.h"

namespace tutti::sim {

inline constexpr uint32_t kNoLane = UINT32_MAX;

struct StepRecord {
  // A step that takes a message begins with its transfer under lending, and when the message is
  // there under slots. It ends when it has run.
  double begin_ns = 0;
  double end_ns = 0;
  // Under lending: when the message that the step takes was there. Under slots: when the message
  // that it sends began to move.
  double transfer_ns = 0;
  // The step whose progress let this one begin, kNoStep at a rank's start. Under lending, a send
  // that this step depends on is complete by its taker, so that is the cause.
  StepNumber cause = kNoStep;
  uint32_t first_waiter = kNoLane;  // of the lanes that wait for it to be complete
  // The cause came while this step stood ready: a message was sent, has arrived or was taken.
  bool by_partner = false;
  bool is_sent = false;  // under lending: its message may be pulled
  bool is_complete = false;
};
static_assert(sizeof(StepRecord) == 40);

using StepLog = std::vector<StepRecord>;

}  // namespace tutti::sim
