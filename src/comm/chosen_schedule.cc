#include "comm/chosen_schedule.h"

#include <fmt/format.h>

#include "base/log.h"
#include "comm/proofs.h"

namespace tutti::comm {

Result<verify::VerifiedSchedule> chosen_schedule(const TuningTable& tuning,
                                                 const Collective& collective, uint64_t bytes,
                                                 const Choice& otherwise, Rank self) {
  const LoadedSchedule* const loaded = find_schedule(tuning.schedules, collective, bytes);
  // All members choose alike: the first speaks.
  if (self.value == 0 && base::logs(base::LogLevel::kInfo)) {
    base::log(base::LogLevel::kInfo, self.value,
              fmt::format("{} of {} bytes among {} ranks: algorithm {}", to_string(collective.kind),
                          bytes, collective.num_ranks,
                          loaded == nullptr ? to_string(otherwise) : describe(*loaded)));
  }
  if (loaded != nullptr) return loaded->schedule;
  return proved_schedule(collective, otherwise);
}

}  // namespace tutti::comm
