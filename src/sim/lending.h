// Lending: a send only announces, and the taker pulls. The transfer begins when the message was
// sent and the taking step stands ready; the send is complete when the data has arrived.
//
// A recv_reduce_send keeps nothing, so it runs in the same moment as its taker: a chain of them
// begins when the first message was sent and all of the chain and its taker stand ready. It is one
// transfer over all its links, at the rate that the slowest of them and of the reductions on the
// way allow; its latency is that of all hops.
#pragma once

#include <vector>

#include "sim/execution.h"

namespace tutti::sim {

class Lending final : public Execution {
 public:
  explicit Lending(const Parts& parts);

 private:
  void act_on_message(uint32_t lane) override;
  void message_event(uint32_t lane) override;
  // Begins the transfer that the step is part of, if all others are ready too; `trigger` is the
  // step itself when its lane has just come to it.
  void partner_changed(StepNumber step, StepNumber trigger) override;
  void step_has_run(uint32_t lane) override;
  [[nodiscard]] Obstacle obstacle_of_standing(uint32_t lane) const override;
  [[nodiscard]] Obstacle obstacle_of_completion(StepNumber send) const override;

  [[nodiscard]] bool passes_through(StepNumber step) const {
    return program_.step(step).kind == ir::StepKind::kRecvReduceSend;
  }
  // The first sender of the chain that ends with this taker.
  [[nodiscard]] StepNumber origin(StepNumber taker) const;

  void announce(StepNumber sender);
  void pull(StepNumber taker, StepNumber trigger);
  void begin_transfer(uint32_t lane);
  void arrived(uint32_t lane);

  // Links of a chain's hops one after the other, by the lane that takes; mostly empty.
  std::vector<std::vector<topo::LinkId>> chain_links_;
};

}  // namespace tutti::sim
