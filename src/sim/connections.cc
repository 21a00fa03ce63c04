#include "sim/connections.h"

namespace tutti::sim {

// A connection belongs to one lane at its sending end, so a lane and a peer name it.
Connections::Connections(const Program& program) : of_(program.num_steps(), UINT32_MAX) {
  const size_t num_ranks = program.schedule().ranks.size();
  std::vector<uint32_t> seen_by(num_ranks, UINT32_MAX);  // the last lane that sent to this peer
  std::vector<uint32_t> connection_to(num_ranks, 0);
  std::vector<uint32_t> num_messages;
  for (uint32_t lane = 0; lane < program.lanes().size(); ++lane) {
    const Program::Lane& steps = program.lanes()[lane];
    for (uint32_t i = 0; i < steps.num_steps; ++i) {
      if (!ir::sends(steps.steps[i].kind)) continue;
      const uint32_t peer = steps.steps[i].send_peer.value;
      if (seen_by[peer] != lane) {
        seen_by[peer] = lane;
        connection_to[peer] = static_cast<uint32_t>(num_messages.size());
        num_messages.push_back(0);
      }
      of_[steps.first + i] = connection_to[peer];
      ++num_messages[connection_to[peer]];
    }
  }
  first_.reserve(num_messages.size() + 1);
  first_.push_back(0);
  for (const uint32_t count : num_messages) first_.push_back(first_.back() + count);
  senders_.resize(first_.back());
  for (StepNumber step = 0; step < program.num_steps(); ++step) {
    if (of_[step] == UINT32_MAX) continue;
    senders_[first_[of_[step]] + program.sequence(step)] = step;
  }
}

}  // namespace tutti::sim
