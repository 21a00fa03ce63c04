#include "base/job_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>

namespace tutti::base {
namespace {

using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

const std::string kId = "0123456789abcdef0123456789abcdef";

VariableLookup lookup_in(const Variables& variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

Variables with(Variables variables, const Variables& others) {
  for (const auto& [name, value] : others) variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

JobEnvironment read(const Variables& variables) {
  return read_job_environment(lookup_in(variables)).value().value();
}

Error refused(const Variables& variables) {
  Result<std::optional<JobEnvironment>> job = read_job_environment(lookup_in(variables));
  if (!job) return job.error();
  ADD_FAILURE() << "accepted";
  return {ErrorCode::kAborted, ""};
}

const Variables kTutti{{"TUTTI_RANK", "3"},
                       {"TUTTI_NUM_RANKS", "7"},
                       {"TUTTI_LOCAL_RANK", "3"},
                       {"TUTTI_JOB_DIR", "/run/x"},
                       {"TUTTI_JOB_ID", kId}};
const Variables kOpenMpi{{"OMPI_COMM_WORLD_RANK", "1"},
                         {"OMPI_COMM_WORLD_SIZE", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                         {"PMIX_NAMESPACE", "prterun-host-77@1"}};
const Variables kHydra{
    {"PMI_RANK", "0"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "3"}};
const Variables kSlurm{{"SLURM_PROCID", "4"}, {"SLURM_NTASKS", "5"},  {"SLURM_LOCALID", "4"},
                       {"SLURM_JOB_ID", "9"}, {"SLURM_STEP_ID", "2"}, {"SLURM_NNODES", "1"}};
const Variables kTorch{{"RANK", "2"},
                       {"WORLD_SIZE", "4"},
                       {"LOCAL_RANK", "2"},
                       {"LOCAL_WORLD_SIZE", "4"},
                       {"MASTER_ADDR", "127.0.0.1"},
                       {"MASTER_PORT", "29500"},
                       {"TORCHELASTIC_RUN_ID", "none"},
                       {"TORCHELASTIC_RESTART_COUNT", "1"}};

TEST(JobEnvironment, NothingSetIsOneRankAlone) {
  EXPECT_FALSE(read_job_environment(lookup_in({})).value());
  const JobEnvironment alone;
  EXPECT_EQ(alone.launcher, "alone");
  EXPECT_EQ(alone.rank, Rank{0});
  EXPECT_EQ(alone.num_ranks, 1u);
}

TEST(JobEnvironment, ReadsWhatTuttiRunSets) {
  const JobEnvironment job = read(kTutti);
  EXPECT_EQ(job.launcher, "tutti run");
  EXPECT_EQ(job.rank, Rank{3});
  EXPECT_EQ(job.num_ranks, 7u);
  EXPECT_EQ(job.local_rank, 3u);
  EXPECT_EQ(job.job_dir, "/run/x");
  EXPECT_EQ(job.job_id, kId);
}

TEST(JobEnvironment, TheInnermostLauncherWins) {
  Variables all = kTorch;
  EXPECT_EQ(read(all).launcher, "torchrun");
  all = with(all, kSlurm);
  EXPECT_EQ(read(all).launcher, "Slurm");
  all = with(all, kHydra);
  EXPECT_EQ(read(all).launcher, "PMI");
  all = with(all, kOpenMpi);
  EXPECT_EQ(read(all).launcher, "Open MPI");
  all = with(all, kTutti);
  EXPECT_EQ(read(all).launcher, "tutti run");
}

TEST(JobEnvironment, EveryVariableOfTuttiRunIsNeeded) {
  for (const auto& [name, value] : kTutti) {
    if (name == "TUTTI_LOCAL_RANK") continue;  // one host: it is the rank
    EXPECT_THAT(refused(without(kTutti, name)).message, HasSubstr(name));
    EXPECT_THAT(refused(with(kTutti, {{name, ""}})).message, HasSubstr(name));
  }
}

TEST(JobEnvironment, MalformedNumbersAreNamedWithTheirValue) {
  for (const char* bad : {"x", "-1", "1.0", " 1", "1 ", "0x1", "4294967296", "+1"}) {
    const Error error = refused(with(kTutti, {{"TUTTI_RANK", bad}}));
    EXPECT_EQ(error.code, ErrorCode::kMalformed);
    EXPECT_THAT(error.message, HasSubstr(std::string("TUTTI_RANK='") + bad + "'"));
  }
}

TEST(JobEnvironment, ARankIsBelowTheNumberOfRanks) {
  for (const char* bad : {"7", "8", "4294967295"}) {
    const std::string message = refused(with(kTutti, {{"TUTTI_RANK", bad}})).message;
    EXPECT_THAT(message, HasSubstr(std::string("TUTTI_RANK='") + bad + "'"));
    EXPECT_THAT(message, HasSubstr("TUTTI_NUM_RANKS=7"));
  }
  EXPECT_EQ(read(with(kTutti, {{"TUTTI_RANK", "6"}})).rank, Rank{6});
  EXPECT_THAT(refused(with(kTutti, {{"TUTTI_NUM_RANKS", "0"}})).message,
              HasSubstr("TUTTI_NUM_RANKS='0'"));
  EXPECT_THAT(refused(with(kTutti, {{"TUTTI_LOCAL_RANK", "7"}})).message,
              HasSubstr("TUTTI_LOCAL_RANK='7'"));
}

TEST(JobEnvironment, JobIdAndDirectoryAreChecked) {
  for (const char* bad : {"1234", "0123456789ABCDEF0123456789abcdef", "../../../etc/passwd"}) {
    EXPECT_THAT(refused(with(kTutti, {{"TUTTI_JOB_ID", bad}})).message, HasSubstr(bad));
  }
  EXPECT_THAT(refused(with(kTutti, {{"TUTTI_JOB_DIR", "here"}})).message,
              HasSubstr("TUTTI_JOB_DIR='here'"));
}

TEST(JobEnvironment, ReadsOpenMpiOfAllAges) {
  const JobEnvironment job = read(kOpenMpi);
  EXPECT_EQ(job.rank, Rank{1});
  EXPECT_EQ(job.num_ranks, 2u);
  EXPECT_EQ(job.job_id, "ompi-prterun-host-77@1");
  const Variables older = without(kOpenMpi, "PMIX_NAMESPACE");
  EXPECT_EQ(read(with(older, {{"OMPI_MCA_ess_base_jobid", "42"}})).job_id, "ompi-42");
  EXPECT_THAT(refused(older).message, HasSubstr("PMIX_NAMESPACE"));
  EXPECT_THAT(refused(without(kOpenMpi, "OMPI_COMM_WORLD_SIZE")).message,
              HasSubstr("OMPI_COMM_WORLD_SIZE"));
}

TEST(JobEnvironment, ReadsPmiWithAndWithoutAJobId) {
  EXPECT_EQ(read(with(kHydra, {{"PMI_JOBID", "5.0"}})).job_id, "5.0");
  EXPECT_THAT(read(kHydra).job_id, HasSubstr("pmi-" + std::to_string(getppid()) + "-"));
  EXPECT_EQ(read(kHydra).job_id, read(kHydra).job_id);
}

TEST(JobEnvironment, KnowsThePmiProxyByItsSocket) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const Variables hydra = with(kHydra, {{"PMI_FD", std::to_string(ends[0])}});
  EXPECT_THAT(read(hydra).job_id, HasSubstr("pmi-" + std::to_string(getpid()) + "-"));
  close(ends[0]);
  close(ends[1]);
}

TEST(JobEnvironment, PmiUnderSlurmTakesItsLocalRankAndItsLimit) {
  Variables pmi2 = with(kSlurm, {{"PMI_RANK", "4"}, {"PMI_SIZE", "5"}, {"PMI_JOBID", "9.2"}});
  EXPECT_EQ(read(pmi2).local_rank, 4u);
  pmi2["SLURM_NNODES"] = "2";
  EXPECT_EQ(refused(pmi2).code, ErrorCode::kUnsupported);
}

TEST(JobEnvironment, ASlurmStepIsAJobOfItsOwn) {
  const JobEnvironment job = read(kSlurm);
  EXPECT_EQ(job.rank, Rank{4});
  EXPECT_EQ(job.job_id, "slurm-9.2");
  EXPECT_EQ(read(with(kSlurm, {{"SLURM_STEP_NUM_TASKS", "6"}})).num_ranks, 6u);
}

TEST(JobEnvironment, ASlurmBatchScriptIsNoRank) {
  EXPECT_FALSE(read_job_environment(lookup_in(without(kSlurm, "SLURM_STEP_ID"))).value());
}

TEST(JobEnvironment, SeveralHostsAreRefused) {
  const auto refused_naming = [](const Variables& variables, const char* what) {
    const Error error = refused(variables);
    EXPECT_EQ(error.code, ErrorCode::kUnsupported);
    EXPECT_THAT(error.message, HasSubstr(what));
    EXPECT_THAT(error.message, HasSubstr("one host"));
  };
  refused_naming(with(kSlurm, {{"SLURM_NNODES", "2"}}), "SLURM_NNODES=2");
  refused_naming(with(kSlurm, {{"SLURM_STEP_NUM_NODES", "3"}}), "SLURM_STEP_NUM_NODES=3");
  refused_naming(with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}}),
                 "OMPI_COMM_WORLD_LOCAL_SIZE");
  refused_naming(with(kHydra, {{"MPI_LOCALNRANKS", "1"}}), "MPI_LOCALNRANKS");
  refused_naming(with(kTorch, {{"LOCAL_WORLD_SIZE", "2"}}), "LOCAL_WORLD_SIZE");
  // A step on one node of a larger allocation is served.
  EXPECT_EQ(read(with(kSlurm, {{"SLURM_NNODES", "2"}, {"SLURM_STEP_NUM_NODES", "1"}})).num_ranks,
            5u);
}

TEST(JobEnvironment, ATorchrunRestartIsANewGeneration) {
  const JobEnvironment job = read(kTorch);
  EXPECT_EQ(job.rank, Rank{2});
  EXPECT_EQ(job.job_id, "torch-none-127.0.0.1-29500-1");
  EXPECT_NE(read(with(kTorch, {{"TORCHELASTIC_RESTART_COUNT", "2"}})).job_id, job.job_id);
  EXPECT_NE(read(with(kTorch, {{"MASTER_PORT", "29501"}})).job_id, job.job_id);
  EXPECT_THAT(refused(without(kTorch, "MASTER_PORT")).message, HasSubstr("MASTER_PORT"));
  EXPECT_THAT(refused(with(kTorch, {{"MASTER_PORT", "x"}})).message, HasSubstr("MASTER_PORT='x'"));
}

TEST(JobEnvironment, OneOfTorchrunsGeneralNamesAloneMeansNothing) {
  EXPECT_FALSE(read_job_environment(lookup_in(without(kTorch, "RANK"))).value());
  EXPECT_FALSE(read_job_environment(lookup_in(without(kTorch, "WORLD_SIZE"))).value());
}

TEST(JobDirectory, IsPrivateToUserAndJob) {
  const std::string start = "/tmp/tutti-" + std::to_string(getuid()) + "/";
  EXPECT_EQ(read(kSlurm).job_dir, start + "slurm-9.2");
  EXPECT_EQ(read(kOpenMpi).job_dir, start + "ompi-prterun-host-77%401");
}

TEST(JobDirectory, NoTwoIdsShareOneAndNoneLeadsElsewhere) {
  const auto dir = [](const std::string& id) {
    return read(with(kHydra, {{"PMI_JOBID", id}})).job_dir;
  };
  EXPECT_NE(dir("a/b"), dir("a_b"));
  EXPECT_NE(dir("a b"), dir("a%20b"));
  for (const char* id : {"..", ".", "../x", "/etc"}) {
    EXPECT_EQ(dir(id).find("/.", 0), std::string::npos) << dir(id);
    EXPECT_EQ(dir(id).find("//", 0), std::string::npos) << dir(id);
  }
  const std::string longest(300, 'x');
  EXPECT_NE(dir(longest), dir(longest + "y"));
  EXPECT_LT(dir(longest + "y").size(), 90u);
}

TEST(RuntimeDirectory, IsTheFirstThatCanBeUsed) {
  const std::string there = testing::TempDir().substr(0, testing::TempDir().size() - 1);
  EXPECT_EQ(runtime_directory(lookup_in({})), "/tmp");
  EXPECT_EQ(runtime_directory(lookup_in({{"XDG_RUNTIME_DIR", there}, {"TMPDIR", "/var"}})), there);
  EXPECT_EQ(runtime_directory(lookup_in({{"XDG_RUNTIME_DIR", "/nowhere"}, {"TMPDIR", there}})),
            there);
  EXPECT_EQ(runtime_directory(lookup_in({{"XDG_RUNTIME_DIR", ""}, {"TMPDIR", "relative"}})),
            "/tmp");
}

}  // namespace
}  // namespace tutti::base
