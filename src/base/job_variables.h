// A launcher's variables, read by demand: a missing or malformed one is an Error that names it.
// For job_environment.cc and foreign_launchers.cc.
#pragma once

#include <string>

#include "base/job_environment.h"

namespace tutti::base {

class JobVariables {
 public:
  JobVariables(const VariableLookup& lookup, std::string_view launcher)
      : lookup_(lookup), launcher_(launcher) {}

  [[nodiscard]] bool has(const char* name) const { return lookup_(name).has_value(); }
  [[nodiscard]] Result<std::string> text(const char* name) const;  // demands it to be set
  [[nodiscard]] Result<uint32_t> number(const char* name) const;
  [[nodiscard]] Result<uint32_t> number_or(const char* name, uint32_t fallback) const;
  [[nodiscard]] std::string_view launcher() const { return launcher_; }
  [[nodiscard]] Error malformed(const char* name, std::string_view wanted) const;

 private:
  const VariableLookup& lookup_;
  std::string_view launcher_;
};

// The names under which a launcher tells a rank who it is. Null: it has no such variable.
struct RankNames {
  const char* rank;
  const char* num_ranks;
  const char* local_rank;
  const char* num_local_ranks;
};

// Rank, size and local rank, checked against each other and against one host.
[[nodiscard]] Result<JobEnvironment> read_ranks(const JobVariables& variables,
                                                const RankNames& names);

// Readers of foreign launchers; empty when that launcher did not start this process.
[[nodiscard]] Result<std::optional<JobEnvironment>> read_open_mpi(const VariableLookup& lookup);
[[nodiscard]] Result<std::optional<JobEnvironment>> read_pmi(const VariableLookup& lookup);
[[nodiscard]] Result<std::optional<JobEnvironment>> read_slurm(const VariableLookup& lookup);
[[nodiscard]] Result<std::optional<JobEnvironment>> read_torchrun(const VariableLookup& lookup);

}  // namespace tutti::base
