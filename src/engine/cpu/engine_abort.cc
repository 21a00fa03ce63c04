// Communicators that are over: what was under way on them ends, and what comes later is refused.
// Few are ever aborted, and the job rarely goes on for long, so they are kept and looked through.
#include <fmt/format.h>

#include <algorithm>

#include "engine/cpu/engine.h"
#include "engine/cpu/signature_text.h"

namespace tutti::engine {

// What a rank says of communicators that it is not a member of does not count.
const Engine::Abort* Engine::find_abort(uint64_t group, std::span<const Rank> members) const {
  const auto found = std::find_if(aborts_.begin(), aborts_.end(), [&](const Abort& abort) {
    return abort.group == group && is_among(members, abort.by);
  });
  return found == aborts_.end() ? nullptr : &*found;
}

void Engine::end_group(uint64_t group, Rank by) {
  const auto is_known = [&](const Abort& abort) { return abort.group == group && abort.by == by; };
  if (group == 0 || std::any_of(aborts_.begin(), aborts_.end(), is_known)) return;
  Load& load = loads_[by.value];
  if (++load.aborts > kMostAborts) {
    load.madness = fmt::format("it has aborted more than {} communicators", kMostAborts);
    return;
  }
  aborts_.push_back({group, by});
  std::vector<Operation*> concerned;
  operations_.for_each([&](Operation& op) {
    const bool is_of_it = op.request.group == group && is_among(communicator_of(op.request), by);
    if (is_of_it) concerned.push_back(&op);
  });
  for (Operation* const op : concerned) {
    if (op->state.load(std::memory_order_relaxed) == OperationState::kDone) forget_readers(*op);
    fail_here(*op, abort_error(op->request, by));
  }
}

}  // namespace tutti::engine
