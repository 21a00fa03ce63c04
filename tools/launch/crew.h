// The processes of a job and what they need to start: directory, guard, environment, pipes. Starts
// them, signals them, tells how each ended; does not decide anything.
#pragma once

#include <sys/resource.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/launch/descriptor.h"
#include "tools/launch/guard.h"
#include "tools/launch/job.h"
#include "tools/launch/job_directory.h"
#include "tools/launch/rank_environment.h"
#include "tools/launch/rank_process.h"
#include "tools/launch/relay.h"
#include "tools/launch/signals.h"
#include "tools/launch/terminal_input.h"

namespace tutti::tools::launch {

class Crew {
 public:
  // Makes directory and guard; starts no rank yet. The options must outlive the crew.
  [[nodiscard]] static Result<std::unique_ptr<Crew>> prepare(const JobOptions& options);

  // Starts the next rank and hands its streams over.
  [[nodiscard]] Status start_next(Relay& relay, TerminalInput& input, Time now);
  // All were started: the report below can come to its end.
  void close_start() { report_.write_end.close(); }
  // A rank that could not become the program, if there is one. Never waits.
  [[nodiscard]] std::optional<StartFailure> start_failure();

  void signal(int signal) const;
  [[nodiscard]] Signals& signals() { return *signals_; }
  [[nodiscard]] std::vector<RankProcess>& ranks() { return ranks_; }
  [[nodiscard]] std::vector<uint32_t> running() const;
  [[nodiscard]] bool is_buried() const;
  // For the launcher to wait on while ranks become the program; closed afterwards.
  [[nodiscard]] const Descriptor& report_fd() const { return report_.read_end; }

 private:
  struct RankPipes {
    Pipe out;
    Pipe err;
    Descriptor in;       // what the rank reads
    Descriptor to_rank;  // open where the launcher passes the terminal on
  };

  explicit Crew(const JobOptions& options);
  [[nodiscard]] Result<RankPipes> make_pipes(uint32_t rank) const;

  const JobOptions& options_;
  std::vector<char*> arguments_;
  RankEnvironment environment_;
  rlimit open_files_{};
  // In this order: the ranks go first, then their directory, then who guards both.
  std::unique_ptr<Signals> signals_;
  std::unique_ptr<Guard> guard_;
  std::optional<JobDirectory> directory_;
  Pipe report_;
  std::vector<RankProcess> ranks_;
};

}  // namespace tutti::tools::launch
