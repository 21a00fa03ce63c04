// Tuning tables as files: docs/reference/tuning.md. Where a job finds its own, and what is refused:
// whatever no call could follow is an error that names file, line and field when the table is
// read, so that no call fails for it later.
#pragma once

#include <string>
#include <string_view>

#include "base/job_environment.h"
#include "comm/tuning.h"
#include "tutti/result.h"

namespace tutti::comm {

// A file; or "none", for the built-in rules whatever files there are.
inline constexpr const char* kTuningVariable = "TUTTI_TUNING";
// Files of schedules, with ':' between them.
inline constexpr const char* kScheduleVariable = "TUTTI_SCHEDULE";

// `source` names the text in errors.
[[nodiscard]] Result<TuningTable> tuning_from_json(std::string_view text,
                                                   const std::string& source);
// One rule a line, so that two tables can be compared line by line.
[[nodiscard]] std::string to_json(const TuningTable& table);

[[nodiscard]] Result<TuningTable> read_tuning(const std::string& path);

// $XDG_CONFIG_HOME/tutti/tuning.json, or the same in ~/.config; empty where there is no home.
[[nodiscard]] std::string user_tuning_path(
    const base::VariableLookup& lookup = base::environment_variable);

// The table of this process: the file that TUTTI_TUNING names; else the user's, if there is one;
// else one without rules. With the schedules that TUTTI_SCHEDULE names, proved, which must have a
// use among so many ranks.
[[nodiscard]] Result<TuningTable> find_tuning(
    uint32_t num_ranks, const base::VariableLookup& lookup = base::environment_variable);

}  // namespace tutti::comm
