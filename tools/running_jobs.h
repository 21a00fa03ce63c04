// Finds the jobs of this user that run on this host, by the directories that their ranks meet in.
#pragma once

#include <string>
#include <vector>

#include "comm/diagnosis/status_socket.h"
#include "tutti/result.h"

namespace tutti::tools {

struct RunningJob {
  std::string directory;
  comm::JobBoards boards;

  // The last part of the directory.
  [[nodiscard]] std::string name() const { return directory.substr(directory.rfind('/') + 1); }
};

// Those of which at least one rank answers. `which` is empty for all of them, or a directory, its
// last part (without "tutti-run-" too), or the process id of a rank or of its launcher.
[[nodiscard]] std::vector<RunningJob> running_jobs(const std::string& which);

}  // namespace tutti::tools
