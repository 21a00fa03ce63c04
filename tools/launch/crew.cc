#include "tools/launch/crew.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/job_environment.h"
#include "base/try.h"

namespace tutti::tools::launch {

Crew::Crew(const JobOptions& options)
    : options_(options), environment_(environ, options.environment) {
  for (const std::string& word : options_.command) {
    arguments_.push_back(const_cast<char*>(word.c_str()));  // execve promises not to write
  }
  arguments_.push_back(nullptr);
  ranks_.reserve(options_.num_ranks);
}

Result<std::unique_ptr<Crew>> Crew::prepare(const JobOptions& options) {
  constexpr uint64_t kOwnFiles = 32;
  std::unique_ptr<Crew> crew(new Crew(options));
  TUTTI_TRY(open_missing_standard_streams());
  getrlimit(RLIMIT_NOFILE, &crew->open_files_);
  TUTTI_TRY(allow_open_files(2 * uint64_t{options.num_ranks} + kOwnFiles));
  // From here on signals are messages: none ends us before the directory is gone again.
  TUTTI_ASSIGN(crew->signals_, Signals::take_over());
  TUTTI_ASSIGN(JobDirectory directory, JobDirectory::create());
  crew->directory_.emplace(std::move(directory));
  TUTTI_ASSIGN(crew->guard_, Guard::start(crew->directory_->path()));
  TUTTI_ASSIGN(crew->report_, make_pipe());
  set_nonblocking(crew->report_.read_end);
  TUTTI_ASSIGN(const std::string job_id, make_job_id());
  crew->environment_.set(base::kJobIdVariable, job_id);
  crew->environment_.set(base::kJobDirVariable, crew->directory_->path());
  crew->environment_.set(base::kNumRanksVariable, std::to_string(options.num_ranks));
  return crew;
}

// Standard input is the launcher's for rank 0, but for a terminal, and nothing for the others.
Result<Crew::RankPipes> Crew::make_pipes(uint32_t rank) const {
  RankPipes pipes;
  TUTTI_ASSIGN(pipes.out, make_pipe());
  TUTTI_ASSIGN(pipes.err, make_pipe());
  if (rank == 0 && isatty(STDIN_FILENO) == 1) {
    TUTTI_ASSIGN(Pipe in, make_pipe());
    pipes.in = std::move(in.read_end);
    pipes.to_rank = std::move(in.write_end);
  } else if (rank != 0) {
    pipes.in = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!pipes.in.is_open()) return system_error("open /dev/null");
  }
  return pipes;
}

Status Crew::start_next(Relay& relay, TerminalInput& input, Time now) {
  const auto rank = static_cast<uint32_t>(ranks_.size());
  TUTTI_ASSIGN(RankPipes pipes, make_pipes(rank));
  environment_.set(base::kRankVariable, std::to_string(rank));
  environment_.set(base::kLocalRankVariable, std::to_string(rank));
  StartPlan plan;
  plan.rank = rank;
  plan.path = options_.path.c_str();
  plan.arguments = arguments_.data();
  plan.environment = environment_.pointers();
  plan.streams[STDIN_FILENO] = pipes.in.is_open() ? pipes.in.get() : STDIN_FILENO;
  plan.streams[STDOUT_FILENO] = pipes.out.write_end.get();
  plan.streams[STDERR_FILENO] = pipes.err.write_end.get();
  plan.report_fd = report_.write_end.get();
  if (!options_.cores.empty()) plan.core = options_.cores[rank % options_.cores.size()];
  plan.guard = guard_.get();
  plan.signals = signals_.get();
  plan.open_files = open_files_;
  TUTTI_ASSIGN(RankProcess process, RankProcess::start(plan, now));
  ranks_.push_back(std::move(process));
  relay.add_rank(std::move(pipes.out.read_end), std::move(pipes.err.read_end));
  if (pipes.to_rank.is_open()) input.open(std::move(pipes.to_rank));
  return {};
}

std::optional<StartFailure> Crew::start_failure() {
  if (!report_.read_end.is_open()) return std::nullopt;
  StartFailure failure{};
  const ssize_t got = read(report_.read_end.get(), &failure, sizeof failure);
  if (got == 0) report_.read_end.close();
  if (got != static_cast<ssize_t>(sizeof failure)) return std::nullopt;
  return failure;
}

void Crew::signal(int signal) const {
  for (const RankProcess& rank : ranks_) rank.signal(signal);
}

std::vector<uint32_t> Crew::running() const {
  std::vector<uint32_t> running;
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].is_running()) running.push_back(rank);
  }
  return running;
}

bool Crew::is_buried() const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [](const RankProcess& rank) { return rank.is_buried(); });
}

}  // namespace tutti::tools::launch
