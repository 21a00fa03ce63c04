// The schedule that serves a call: one that the user brought along, if there is one for it, else
// that of the algorithm that rules chose.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "comm/choose.h"
#include "comm/tuning.h"
#include "tutti/collective.h"
#include "tutti/result.h"
#include "verify/verified_schedule.h"

namespace tutti::comm {

// `bytes` as in comm/choose.h; `otherwise` is what the rules chose, on all members alike; `self` is
// this rank's place among them.
[[nodiscard]] Result<verify::VerifiedSchedule> chosen_schedule(const TuningTable& tuning,
                                                               const Collective& collective,
                                                               uint64_t bytes,
                                                               const Choice& otherwise, Rank self);

}  // namespace tutti::comm
