#include "base/job_environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

#include "base/job_variables.h"
#include "base/try.h"

namespace tutti::base {
namespace {

bool is_hexadecimal(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return text.find_first_not_of(kDigits) == std::string_view::npos;
}

Result<std::optional<JobEnvironment>> read_tutti(const VariableLookup& lookup) {
  const JobVariables variables(lookup, "tutti run");
  if (!variables.has(kRankVariable) && !variables.has(kNumRanksVariable)) {
    return std::optional<JobEnvironment>();
  }
  TUTTI_ASSIGN(JobEnvironment job, read_ranks(variables, {kRankVariable, kNumRanksVariable,
                                                          kLocalRankVariable, nullptr}));
  TUTTI_ASSIGN(job.job_id, variables.text(kJobIdVariable));
  if (job.job_id.size() != 32 || !is_hexadecimal(job.job_id)) {
    return variables.malformed(kJobIdVariable, "32 hexadecimal digits");
  }
  TUTTI_ASSIGN(job.job_dir, variables.text(kJobDirVariable));
  if (!job.job_dir.starts_with('/')) return variables.malformed(kJobDirVariable, "a full path");
  return std::optional(std::move(job));
}

}  // namespace

std::optional<std::string> environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Result<std::optional<JobEnvironment>> read_job_environment(const VariableLookup& lookup) {
  // `tutti run` inside an allocation or another launcher's rank is the innermost, so it comes
  // first; mpirun inside a Slurm allocation comes before Slurm for the same reason. torchrun is
  // last: its names are so general that others use them too.
  for (const auto& read : {read_tutti, read_open_mpi, read_pmi, read_slurm, read_torchrun}) {
    TUTTI_ASSIGN(std::optional<JobEnvironment> job, read(lookup));
    if (job) return job;
  }
  return std::optional<JobEnvironment>();
}

std::string runtime_directory(const VariableLookup& lookup) {
  for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const std::optional<std::string> path = lookup(name);
    // Schedulers hand on a login node's XDG_RUNTIME_DIR, which need not exist here.
    if (path && path->starts_with('/') && access(path->c_str(), W_OK | X_OK) == 0) return *path;
  }
  return "/tmp";
}

Result<std::string> JobVariables::text(const char* name) const {
  std::optional<std::string> value = lookup_(name);
  if (value && !value->empty()) return *std::move(value);
  return Error{ErrorCode::kMalformed, fmt::format("{} started this process, but {} is {}",
                                                  launcher_, name, value ? "empty" : "not set")};
}

Result<uint32_t> JobVariables::number(const char* name) const {
  TUTTI_ASSIGN(const std::string value, text(name));
  uint32_t number = 0;
  const char* const end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || rest != end) return malformed(name, "a whole number");
  return number;
}

Result<uint32_t> JobVariables::number_or(const char* name, uint32_t fallback) const {
  return has(name) ? number(name) : Result<uint32_t>(fallback);
}

Error JobVariables::malformed(const char* name, std::string_view wanted) const {
  return {ErrorCode::kMalformed, fmt::format("{}: {}='{}' is not {}", launcher_, name,
                                             lookup_(name).value_or(""), wanted)};
}

Result<JobEnvironment> read_ranks(const JobVariables& variables, const RankNames& names) {
  JobEnvironment job;
  job.launcher = variables.launcher();
  TUTTI_ASSIGN(job.rank.value, variables.number(names.rank));
  TUTTI_ASSIGN(job.num_ranks, variables.number(names.num_ranks));
  if (job.num_ranks == 0) return variables.malformed(names.num_ranks, "at least 1");
  if (job.rank.value >= job.num_ranks) {
    return variables.malformed(names.rank,
                               fmt::format("below {}={}", names.num_ranks, job.num_ranks));
  }
  job.local_rank = job.rank.value;
  if (names.num_local_ranks != nullptr) {
    TUTTI_ASSIGN(const uint32_t here, variables.number_or(names.num_local_ranks, job.num_ranks));
    if (here < job.num_ranks) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("{} started {} ranks, {} of them on this host ({}): tutti serves "
                               "one host today; start all ranks there",
                               job.launcher, job.num_ranks, here, names.num_local_ranks)};
    }
  }
  TUTTI_ASSIGN(job.local_rank, variables.number_or(names.local_rank, job.local_rank));
  if (job.local_rank >= job.num_ranks) {
    return variables.malformed(names.local_rank,
                               fmt::format("below {}={}", names.num_ranks, job.num_ranks));
  }
  return job;
}

}  // namespace tutti::base
