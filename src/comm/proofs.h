// Schedules that were proved, kept for everybody in this process: proofs do not depend on who asks,
// so communicators of the same size, and ranks that are threads of one process, share them.
#pragma once

#include "comm/choose.h"
#include "tutti/collective.h"
#include "tutti/result.h"
#include "verify/verified_schedule.h"

namespace tutti::comm {

// Any thread.
[[nodiscard]] Result<verify::VerifiedSchedule> proved_schedule(const Collective& collective,
                                                               const Choice& choice);

}  // namespace tutti::comm
