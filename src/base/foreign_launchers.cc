// Other launchers' ways to tell a rank who it is. Each has its own names and its own idea of what
// makes a job unique; where it has none, the comment says what stands in for it.
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>

#include "base/file.h"
#include "base/job_variables.h"
#include "base/try.h"

namespace tutti::base {
namespace {

using Reading = Result<std::optional<JobEnvironment>>;

// FNV-1a. Ranks must agree on it, also when they are built with different standard libraries.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// A file name that no other id has: letters, digits, '-' and '_' stand for themselves, a dot too
// but for the first, all else is %XX. Long ones end in their hash, for a socket's path holds 107
// bytes.
std::string file_name_of(std::string_view id) {
  constexpr size_t kMaxLength = 60;
  std::string name;
  for (const char c : id) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain =
        std::isalnum(byte) != 0 || c == '-' || c == '_' || (c == '.' && !name.empty());
    name += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  if (name.size() <= kMaxLength) return name;
  return fmt::format("{}%{:016x}", name.substr(0, kMaxLength - 17), hash_of(name));
}

Reading with_job(JobEnvironment job, std::string id, const VariableLookup& lookup) {
  job.job_id = std::move(id);
  job.job_dir =
      fmt::format("{}/tutti-{}/{}", runtime_directory(lookup), getuid(), file_name_of(job.job_id));
  return std::optional(std::move(job));
}

// When a process started, in the system's ticks: a pid together with this is never used twice.
std::string start_of(pid_t pid) {
  const Result<std::string> stat = read_file(fmt::format("/proc/{}/stat", pid));
  if (!stat) return "0";
  constexpr int kFieldsAfterName = 20;  // starttime is field 22, and the name in brackets field 2
  size_t at = stat->rfind(')');
  for (int field = 0; field < kFieldsAfterName && at != std::string::npos; ++field) {
    at = stat->find(' ', at + 1);
  }
  if (at == std::string::npos) return "0";
  return stat->substr(at + 1, stat->find(' ', at + 1) - at - 1);
}

// MPICH's launcher names no job in the environment, but PMI_FD is one end of a socket pair that its
// proxy, one a host, has made: the proxy stands for the job, also behind wrapper scripts. Without
// the socket it is the parent.
pid_t proxy_behind(uint32_t pmi_fd) {
  ucred maker{};
  socklen_t size = sizeof maker;
  const bool known =
      getsockopt(static_cast<int>(pmi_fd), SOL_SOCKET, SO_PEERCRED, &maker, &size) == 0;
  return known && maker.pid > 0 ? maker.pid : getppid();
}

Result<std::string> pmi_job_id(const JobVariables& variables) {
  if (variables.has("PMI_JOBID")) return variables.text("PMI_JOBID");
  TUTTI_ASSIGN(const uint32_t pmi_fd, variables.number_or("PMI_FD", UINT32_MAX));
  const pid_t proxy = proxy_behind(pmi_fd);
  return fmt::format("pmi-{}-{}", proxy, start_of(proxy));
}

// A step's own variable where there is one: the job's may speak of a larger allocation.
Status on_one_node(const JobVariables& variables) {
  const char* name =
      variables.has("SLURM_STEP_NUM_NODES") ? "SLURM_STEP_NUM_NODES" : "SLURM_NNODES";
  TUTTI_ASSIGN(const uint32_t nodes, variables.number_or(name, 1));
  if (nodes <= 1) return {};
  return Error{ErrorCode::kUnsupported,
               fmt::format("{}={}: tutti serves one host today; try srun --nodes=1", name, nodes)};
}

}  // namespace

Reading read_open_mpi(const VariableLookup& lookup) {
  const JobVariables variables(lookup, "Open MPI");
  if (!variables.has("OMPI_COMM_WORLD_RANK")) return std::optional<JobEnvironment>();
  TUTTI_ASSIGN(JobEnvironment job,
               read_ranks(variables, {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                      "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"}));
  // PMIX_NAMESPACE since version 4, the other before.
  const char* const older = "OMPI_MCA_ess_base_jobid";
  const bool has_only_older = !variables.has("PMIX_NAMESPACE") && variables.has(older);
  TUTTI_ASSIGN(const std::string id, variables.text(has_only_older ? older : "PMIX_NAMESPACE"));
  return with_job(std::move(job), fmt::format("ompi-{}", id), lookup);
}

Reading read_pmi(const VariableLookup& lookup) {
  const JobVariables variables(lookup, "PMI");
  if (!variables.has("PMI_RANK")) return std::optional<JobEnvironment>();
  // Under srun --mpi=pmi2 the local rank is Slurm's.
  const char* local = variables.has("MPI_LOCALRANKID") ? "MPI_LOCALRANKID" : "SLURM_LOCALID";
  TUTTI_TRY(on_one_node(variables));
  TUTTI_ASSIGN(JobEnvironment job,
               read_ranks(variables, {"PMI_RANK", "PMI_SIZE", local, "MPI_LOCALNRANKS"}));
  TUTTI_ASSIGN(std::string id, pmi_job_id(variables));
  return with_job(std::move(job), std::move(id), lookup);
}

Reading read_slurm(const VariableLookup& lookup) {
  const JobVariables variables(lookup, "Slurm");
  // A batch script has SLURM_PROCID too, and is no rank; only a step that srun started is.
  if (!variables.has("SLURM_PROCID") || !variables.has("SLURM_STEP_ID")) {
    return std::optional<JobEnvironment>();
  }
  TUTTI_TRY(on_one_node(variables));
  const char* size =
      variables.has("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  TUTTI_ASSIGN(JobEnvironment job,
               read_ranks(variables, {"SLURM_PROCID", size, "SLURM_LOCALID", nullptr}));
  TUTTI_ASSIGN(const std::string job_id, variables.text("SLURM_JOB_ID"));
  TUTTI_ASSIGN(const std::string step_id, variables.text("SLURM_STEP_ID"));
  return with_job(std::move(job), fmt::format("slurm-{}.{}", job_id, step_id), lookup);
}

Reading read_torchrun(const VariableLookup& lookup) {
  const JobVariables variables(lookup, "torchrun");
  // General names: one of them alone means nothing.
  if (!variables.has("RANK") || !variables.has("WORLD_SIZE")) {
    return std::optional<JobEnvironment>();
  }
  TUTTI_ASSIGN(JobEnvironment job,
               read_ranks(variables, {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"}));
  TUTTI_ASSIGN(const std::string address, variables.text("MASTER_ADDR"));
  TUTTI_ASSIGN(const uint32_t port, variables.number("MASTER_PORT"));
  TUTTI_ASSIGN(const uint32_t restart, variables.number_or("TORCHELASTIC_RESTART_COUNT", 0));
  // The run id is "none" unless given, and the port is 29500 unless chosen: two plain runs, one
  // after the other, have the same id. `torchrun --standalone` makes both new for every run.
  const std::string run = lookup("TORCHELASTIC_RUN_ID").value_or("none");
  return with_job(std::move(job), fmt::format("torch-{}-{}-{}-{}", run, address, port, restart),
                  lookup);
}

}  // namespace tutti::base
