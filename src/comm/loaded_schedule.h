// A schedule that a user brought along, for calls of a communicator: what of it is checked when it
// is loaded, and which calls it serves. No call fails for it later.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tutti/collective.h"
#include "tutti/communicator.h"
#include "tutti/result.h"
#include "verify/verified_schedule.h"

namespace tutti::comm {

struct LoadedSchedule {
  verify::VerifiedSchedule schedule;
  ByteRange sizes = {};
  std::string source;   // the file; of one without, what it is
  uint64_t digest = 0;  // equal for equal schedules
};

// kUnsupported for what the engine has no room for and for what serves calls in place alone;
// kInvalidArgument for a range without sizes.
[[nodiscard]] Result<LoadedSchedule> load_schedule(verify::VerifiedSchedule schedule,
                                                   const ByteRange& sizes, std::string source = "");
// Reads and proves it first.
[[nodiscard]] Result<LoadedSchedule> load_schedule(const std::string& path, const ByteRange& sizes);

// "s.json (all_reduce packed of 8 ranks)"
[[nodiscard]] std::string describe(const LoadedSchedule& loaded);

// kInvalidArgument where the schedule has more ranks than a job, in which it could serve no call;
// and where it has not as many as a communicator.
[[nodiscard]] Status check_fits(std::span<const LoadedSchedule> schedules, uint32_t num_ranks);
[[nodiscard]] Status check_members(const LoadedSchedule& loaded, uint32_t num_ranks);

// Adds one. kInvalidArgument where it speaks of calls that one of the others serves.
[[nodiscard]] Status add_schedule(std::vector<LoadedSchedule>& schedules, LoadedSchedule loaded);

// The one for such a call, or nullptr. `bytes` as in comm/choose.h.
[[nodiscard]] const LoadedSchedule* find_schedule(std::span<const LoadedSchedule> schedules,
                                                  const Collective& collective, uint64_t bytes);

}  // namespace tutti::comm
