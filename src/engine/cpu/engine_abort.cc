// Communicators that are over: what was under way on them ends, and what comes later is refused.
// Few are ever aborted, and the job rarely goes on for long, so they are kept and looked through.
#include <algorithm>

#include "engine/cpu/engine.h"
#include "engine/cpu/signature_text.h"

namespace tutti::engine {

const Engine::Abort* Engine::find_abort(uint64_t group) const {
  const auto found = std::find_if(aborts_.begin(), aborts_.end(),
                                  [&](const Abort& abort) { return abort.group == group; });
  return found == aborts_.end() ? nullptr : &*found;
}

void Engine::end_group(uint64_t group, Rank by) {
  if (group == 0 || find_abort(group) != nullptr) return;
  aborts_.push_back({group, by});
  std::vector<Operation*> concerned;
  operations_.for_each([&](Operation& op) {
    if (op.request.group == group) concerned.push_back(&op);
  });
  for (Operation* const op : concerned) fail_here(*op, abort_error(op->request, by));
}

}  // namespace tutti::engine
