// What a user sets in the environment: TUTTI_DEBUG and its like, read once a rank. A value that
// means nothing is passed over with a sentence that says so: a job must not fail for it.
// docs/reference/settings.md lists them all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/job_environment.h"
#include "base/log.h"

namespace tutti::base {

struct Settings {
  LogLevel debug = LogLevel::kNone;           // TUTTI_DEBUG
  bool progress_thread = true;                // TUTTI_PROGRESS_THREAD
  uint64_t report_after_ns = 10'000'000'000;  // TUTTI_REPORT_AFTER, in seconds; 0: never
  std::string flight_recorder;                // TUTTI_FLIGHT_RECORDER, a folder; empty: none
  std::string trace;                          // TUTTI_TRACE, a folder; empty: none
  uint32_t gpu_workers = 0;                   // TUTTI_GPU_WORKERS; 0: as many as fit
  std::vector<std::string> complaints;
};

[[nodiscard]] Settings read_settings(const VariableLookup& lookup = environment_variable);

}  // namespace tutti::base
