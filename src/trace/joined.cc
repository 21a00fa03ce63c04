#include "trace/joined.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

namespace tutti::trace {
namespace {

using StepKey = std::array<uint32_t, 4>;  // rank, call, lane, step
using CallKey = std::pair<uint32_t, uint32_t>;

// Finds the step that has a key: sorted once, since there are up to a million.
class StepIndex {
 public:
  explicit StepIndex(const Trace& trace) {
    for (const Event& event : trace.events) {
      if (event.kind == EventKind::kStep) steps_.push_back(&event);
    }
    std::sort(steps_.begin(), steps_.end(),
              [](const Event* a, const Event* b) { return key_of(*a) < key_of(*b); });
  }

  [[nodiscard]] const Event* find(const StepKey& key) const {
    const auto at = std::lower_bound(
        steps_.begin(), steps_.end(), key,
        [](const Event* event, const StepKey& wanted) { return key_of(*event) < wanted; });
    return at != steps_.end() && key_of(**at) == key ? *at : nullptr;
  }

 private:
  static StepKey key_of(const Event& event) {
    return {event.rank, event.call, event.lane, event.step};
  }

  std::vector<const Event*> steps_;
};

}  // namespace

Trace on_common_clock(Trace trace) {
  std::map<uint32_t, int64_t> offsets;
  for (const ClockOffset& clock : trace.clocks) offsets[clock.rank] = clock.offset;
  const auto move = [&](auto& its) {
    const auto found = offsets.find(its.rank);
    if (found == offsets.end()) return;
    its.begin += found->second;
    if (its.end != kStillOpen) its.end += found->second;
  };
  for (Call& call : trace.calls) move(call);
  for (Event& event : trace.events) move(event);
  return trace;
}

std::vector<JoinedCall> join_calls(const Trace& trace) {
  std::vector<const Call*> calls;
  for (const Call& call : trace.calls) calls.push_back(&call);
  std::stable_sort(calls.begin(), calls.end(), [](const Call* a, const Call* b) {
    return std::pair(a->rank, a->begin) < std::pair(b->rank, b->begin);
  });
  std::unordered_map<uint64_t, size_t> place;  // by operation
  std::vector<JoinedCall> all;
  for (const Call* call : calls) {
    const auto [at, is_new] = place.try_emplace(call->operation, all.size());
    if (is_new) all.push_back({call->what, {}});
    all[at->second].calls.push_back(call);
  }
  return all;
}

std::vector<Delivery> deliveries_of(const Trace& trace, const std::vector<JoinedCall>& joined) {
  std::map<CallKey, size_t> operation_of;                   // by rank and its call
  std::map<std::pair<size_t, uint32_t>, uint32_t> call_of;  // by operation and rank
  for (size_t i = 0; i < joined.size(); ++i) {
    for (const Call* call : joined[i].calls) {
      operation_of[{call->rank, call->call}] = i;
      call_of[{i, call->rank}] = call->call;
    }
  }
  const StepIndex steps(trace);
  std::vector<Delivery> deliveries;
  for (const Event& event : trace.events) {
    const bool is_taking =
        event.kind == EventKind::kStep && takes(event.op) && event.peer != kNoPeer;
    const auto operation = operation_of.find({event.rank, event.call});
    if (!is_taking || operation == operation_of.end()) continue;
    const auto call = call_of.find({operation->second, event.peer});
    if (call == call_of.end()) continue;
    const Event* sent = steps.find({event.peer, call->second, event.peer_lane, event.peer_step});
    if (sent != nullptr) deliveries.push_back({sent, &event});
  }
  return deliveries;
}

}  // namespace tutti::trace
