// When each step ran and what it had waited for last: what the critical path is read from.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/program.h"

namespace tutti::sim {

struct StepLog {
  explicit StepLog(uint32_t num_steps)
      : begin_ns(num_steps, 0),
        end_ns(num_steps, 0),
        cause(num_steps, kNoStep),
        by_partner(num_steps, false) {}

  // A step that takes a message begins with its transfer under lending, and when the message is
  // there under slots. It ends when it has run.
  std::vector<double> begin_ns;
  std::vector<double> end_ns;
  // The step whose progress let this one begin, kNoStep at a rank's start. Under lending, a send
  // that this step depends on is complete by its taker, so that is the cause.
  std::vector<StepNumber> cause;
  // The cause came while this step stood ready: a message was sent, has arrived or was taken.
  std::vector<bool> by_partner;
  // Under lending: when the message that a step takes was there. Empty under slots.
  std::vector<double> arrived_ns;
  // Under slots: when the transfer of a step's message began. Empty under lending.
  std::vector<double> moved_ns;
};

}  // namespace tutti::sim
