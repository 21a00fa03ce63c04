// How a process learns that it is a rank of a job: the variables that `tutti run` sets, and those
// of other launchers. Owns the names; reads, never sets.
//
// Only one host is served today: a job that spans several is refused, as are values that contradict
// each other. Nothing here creates the job directory of a foreign launcher: it only says where.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "tutti/result.h"

namespace tutti::base {

inline constexpr const char* kRankVariable = "TUTTI_RANK";
inline constexpr const char* kNumRanksVariable = "TUTTI_NUM_RANKS";
inline constexpr const char* kLocalRankVariable = "TUTTI_LOCAL_RANK";
inline constexpr const char* kJobDirVariable = "TUTTI_JOB_DIR";
inline constexpr const char* kJobIdVariable = "TUTTI_JOB_ID";

// As constructed: a process that no launcher started, one rank alone, with no directory to meet in.
struct JobEnvironment {
  std::string_view launcher = "alone";  // a literal: "tutti run", "Open MPI", ...
  Rank rank;
  uint32_t num_ranks = 1;
  uint32_t local_rank = 0;
  // The job's generation: differs from run to run, so that a peer left over from an earlier one is
  // refused. Hexadecimal under `tutti run`, any text under others.
  std::string job_id;
  // Private to the user; the ranks of one job agree on it. Made by `tutti run`; under other
  // launchers the first rank to need it makes it.
  std::string job_dir;
};

// Answers like getenv, so that tests need no environment.
using VariableLookup = std::function<std::optional<std::string>(const char* name)>;
[[nodiscard]] std::optional<std::string> environment_variable(const char* name);

// Asks, in this order: tutti run, Open MPI, PMI (MPICH, Intel MPI), Slurm, torchrun. Empty when
// none of them started this process. An error names the variable and its value.
[[nodiscard]] Result<std::optional<JobEnvironment>> read_job_environment(
    const VariableLookup& lookup = environment_variable);

// Where this user's short-lived files go: $XDG_RUNTIME_DIR if it is there and writable, else
// $TMPDIR on the same terms, else /tmp.
[[nodiscard]] std::string runtime_directory(const VariableLookup& lookup = environment_variable);

}  // namespace tutti::base
