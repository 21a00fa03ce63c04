#include "tools/view/joined_calls.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "ir/step.h"

namespace tutti::view {
namespace {

using Steps = std::vector<const trace::Event*>;

ir::StepKind step_kind(const trace::Event& event) { return static_cast<ir::StepKind>(event.op); }

// What the ranks of one collective gave and took, each in the order in which it happened.
struct Exchange {
  std::map<std::pair<uint32_t, uint32_t>, Steps> given;  // sender, taker
  std::map<std::pair<uint32_t, uint32_t>, Steps> taken;
  std::map<uint32_t, Steps> passed_on;  // by sender: steps that take and give
};

// Where one rank alone took more from the sender than the sender gave to it by name, that is whom
// the sender passed on to.
void address_what_was_passed_on(Exchange& exchange) {
  for (auto& [sender, steps] : exchange.passed_on) {
    std::set<uint32_t> lacking;
    for (const auto& [pair, taken] : exchange.taken) {
      if (pair.first == sender && taken.size() > exchange.given[pair].size()) {
        lacking.insert(pair.second);
      }
    }
    if (lacking.size() != 1) continue;
    Steps& given = exchange.given[{sender, *lacking.begin()}];
    given.insert(given.end(), steps.begin(), steps.end());
    std::stable_sort(given.begin(), given.end(),
                     [](const auto* a, const auto* b) { return a->begin < b->begin; });
  }
}

trace::Event message_between(const trace::Event& sent, const trace::Event& taken) {
  trace::Event message = sent;
  message.kind = trace::EventKind::kMessage;
  message.peer = taken.rank;
  message.peer_lane = taken.lane;
  message.peer_step = taken.step;
  message.bytes = std::max(sent.bytes, taken.bytes);  // an announced send has none
  message.begin = sent.end == trace::kStillOpen ? sent.begin : std::min(sent.end, taken.end);
  message.end = taken.end;
  return message;
}

}  // namespace

trace::Trace on_common_clock(trace::Trace trace) {
  std::map<uint32_t, int64_t> offsets;
  for (const trace::ClockOffset& clock : trace.clocks) offsets[clock.rank] = clock.offset;
  const auto move = [&](auto& its) {
    const auto found = offsets.find(its.rank);
    if (found == offsets.end()) return;
    its.begin += found->second;
    if (its.end != trace::kStillOpen) its.end += found->second;
  };
  for (trace::Call& call : trace.calls) move(call);
  for (trace::Event& event : trace.events) move(event);
  return trace;
}

std::vector<JoinedCall> join_calls(const trace::Trace& trace) {
  std::map<std::pair<std::string, uint64_t>, size_t> place;
  std::map<std::pair<uint32_t, std::string>, uint64_t> seen;
  std::vector<const trace::Call*> calls;
  for (const trace::Call& call : trace.calls) calls.push_back(&call);
  std::stable_sort(calls.begin(), calls.end(), [](const auto* a, const auto* b) {
    return std::pair(a->rank, a->begin) < std::pair(b->rank, b->begin);
  });
  std::vector<JoinedCall> all;
  for (const trace::Call* call : calls) {
    const uint64_t count = seen[{call->rank, call->what}]++;
    const auto [at, is_new] = place.try_emplace({call->what, count}, all.size());
    if (is_new) all.push_back({call->what, {}});
    all[at->second].calls.push_back(call);
  }
  return all;
}

std::vector<trace::Event> messages_of(const trace::Trace& trace,
                                      const std::vector<JoinedCall>& joined) {
  std::map<std::pair<uint32_t, uint32_t>, size_t> collective_of;  // by rank and its call
  for (size_t i = 0; i < joined.size(); ++i) {
    for (const trace::Call* call : joined[i].calls) collective_of[{call->rank, call->call}] = i;
  }
  std::map<size_t, Exchange> exchanges;
  for (const trace::Event& event : trace.events) {
    const auto at = collective_of.find({event.rank, event.call});
    const bool has_peer = event.kind == trace::EventKind::kStep && event.peer != trace::kNoPeer;
    if (!has_peer || at == collective_of.end()) continue;
    Exchange& exchange = exchanges[at->second];
    const bool takes = ir::receives(step_kind(event));
    const bool gives = ir::sends(step_kind(event));
    if (takes) exchange.taken[{event.peer, event.rank}].push_back(&event);
    if (takes && gives) exchange.passed_on[event.rank].push_back(&event);
    if (!takes && gives) exchange.given[{event.rank, event.peer}].push_back(&event);
  }
  std::vector<trace::Event> messages;
  for (auto& [_, exchange] : exchanges) {
    address_what_was_passed_on(exchange);
    for (auto& [pair, taken] : exchange.taken) {
      const Steps& given = exchange.given[pair];
      // Of a pair with steps that were lost, nobody knows which belong together.
      if (given.size() != taken.size()) continue;
      for (size_t i = 0; i < taken.size(); ++i) {
        messages.push_back(message_between(*given[i], *taken[i]));
      }
    }
  }
  return messages;
}

}  // namespace tutti::view
