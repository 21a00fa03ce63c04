#include "verify/order.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace tutti::verify {
namespace {

struct Pending {
  uint32_t num_waits = 0;
  uint32_t chain = 1;  // events on the longest path of waits that ends here, as far as known
};

}  // namespace

std::optional<Order> find_order(const EventGraph& graph, Room room) {
  const uint32_t num_steps = graph.facts().num_steps();
  const auto counts = [room](WaitKind kind) {
    return kind != WaitKind::kRoom || room == Room::kCounts;
  };
  std::vector<Pending> pending(num_steps);
  std::deque<StepNumber> ready;
  uint32_t num_events = 0;
  for (StepNumber step = 0; step < num_steps; ++step) {
    if (!graph.is_event(step)) continue;
    ++num_events;
    graph.for_each_wait(step, [&](const Wait& wait) {
      if (counts(wait.kind)) ++pending[step].num_waits;
    });
    if (pending[step].num_waits == 0) ready.push_back(step);
  }

  Order order;
  order.events.reserve(num_events);
  order.position.resize(num_steps);
  while (!ready.empty()) {
    StepNumber event = ready.front();
    ready.pop_front();
    while (event != kNoStep) {
      order.position[event] = static_cast<uint32_t>(order.events.size());
      order.events.push_back(event);
      const uint32_t chain = pending[event].chain;
      order.longest_chain = std::max<uint64_t>(order.longest_chain, chain);
      StepNumber next_in_lane = kNoStep;
      graph.for_each_follower(event, [&](StepNumber follower, WaitKind kind) {
        if (!counts(kind)) return;
        Pending& its = pending[follower];
        its.chain = std::max(its.chain, chain + 1);
        if (--its.num_waits > 0) return;
        if (follower == event + 1) {
          next_in_lane = follower;
        } else {
          ready.push_back(follower);
        }
      });
      event = next_in_lane;
    }
  }
  if (order.events.size() < num_events) return std::nullopt;
  return order;
}

}  // namespace tutti::verify
