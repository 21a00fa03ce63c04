// A job: N ranks of one program on this host, from the first fork to the last byte of output.
//
// However it goes, also by an early return or with the launcher killed: no process of the job
// remains, and neither does its directory. Not for use in a process with threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/launch/ending.h"
#include "tools/launch/line_merger.h"
#include "tutti/result.h"

namespace tutti::tools::launch {

// As `timeout` has it.
inline constexpr int kTimedOut = 124;
inline constexpr uint32_t kMaxRanks = 4096;

struct JobOptions {
  uint32_t num_ranks = 1;
  std::string path;                      // the program's file: find_program()
  std::vector<std::string> command;      // its name and arguments
  std::vector<std::string> environment;  // NAME=VALUE, checked by check_change()
  Duration grace = std::chrono::seconds(2);
  std::optional<Duration> timeout;
  bool keep_going = false;      // a failing rank does not end the others
  std::vector<uint32_t> cores;  // rank r is bound to cores[r mod size]; empty: none is bound
  Prefix out_prefix = Prefix::kPlain;
  Prefix err_prefix = Prefix::kPlain;
};

// Runs the job and returns the launcher's exit code: the first failing rank's, 124 when the time
// was up, 126 or 127 when the program cannot be run. What is to be said about it has been said.
[[nodiscard]] Result<int> run_job(const JobOptions& options);

}  // namespace tutti::tools::launch
