#include "tools/launch/ending.h"

#include <algorithm>

namespace tutti::tools::launch {

void Ending::begin(Time now) {
  if (begun()) return;
  stage_ = Stage::kGrace;
  next_ = now + grace_;
}

void Ending::terminate(Time now) {
  begin(now);
  if (stage_ == Stage::kGrace) next_ = std::min(next_, now);
}

void Ending::kill(Time now) {
  if (killed()) return;
  stage_ = Stage::kTerminated;
  next_ = now;
}

EndingAction Ending::due(Time now) {
  if (!deadline() || now < next_) return EndingAction::kNothing;
  if (stage_ == Stage::kGrace) {
    stage_ = Stage::kTerminated;
    next_ = now + grace_;
    return EndingAction::kTerminate;
  }
  stage_ = Stage::kKilled;
  return EndingAction::kKill;
}

std::optional<Time> Ending::deadline() const {
  if (stage_ == Stage::kGrace || stage_ == Stage::kTerminated) return next_;
  return std::nullopt;
}

}  // namespace tutti::tools::launch
