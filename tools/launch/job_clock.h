// Time as the job sees it: it stands still while the job is stopped (Ctrl-Z), so that an afternoon
// in the background does not use up a --timeout.
#pragma once

#include "tools/launch/ending.h"

namespace tutti::tools::launch {

class JobClock {
 public:
  [[nodiscard]] Time now() const { return std::chrono::steady_clock::now() - stopped_for_; }
  // Since `before`, a time of this clock, the job was stopped.
  void stood_still_since(Time before) { stopped_for_ += now() - before; }

 private:
  Duration stopped_for_ = Duration::zero();
};

}  // namespace tutti::tools::launch
