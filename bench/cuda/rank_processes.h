// A program that starts itself once for each rank of a job. It ends when they have, or ends them.
#pragma once

#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <vector>

extern char** environ;

namespace tutti::bench {

// A rank ends with whoever started it. To be called first in a rank.
inline void end_with_parent() { prctl(PR_SET_PDEATHSIG, SIGKILL); }

// What says to each process which rank it is, and what else is in `variables` as NAME=VALUE; each
// name once, for this program may itself be a rank of something.
class RankProcesses {
 public:
  RankProcesses(uint32_t num_ranks, std::span<char* const> arguments,
                const std::vector<std::string>& variables) {
    char directory[] = "/tmp/tutti-ranks-XXXXXX";
    if (mkdtemp(directory) == nullptr) return;
    directory_ = directory;
    for (uint32_t r = 0; r < num_ranks; ++r) {
      std::vector<std::string> own = {
          "TUTTI_RANK=" + std::to_string(r), "TUTTI_NUM_RANKS=" + std::to_string(num_ranks),
          "TUTTI_JOB_ID=" + std::string(32, 'd'), "TUTTI_JOB_DIR=" + directory_};
      own.insert(own.end(), variables.begin(), variables.end());
      if (!start(arguments, own)) return;
    }
    all_started_ = true;
  }
  ~RankProcesses() {
    for (const pid_t process : processes_) kill(process, SIGKILL);
    for (const pid_t process : processes_) waitpid(process, nullptr, 0);
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  }
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  // Whether all ended with 0. When one does not, nor do the others: they are ended.
  bool wait_for_all() {
    bool all_well = all_started_;
    while (all_well && !processes_.empty()) {
      int status = 0;
      // Liveness: ranks end by themselves, or by their alarms.
      const pid_t process = waitpid(-1, &status, 0);
      if (process < 0) return false;
      if (std::erase(processes_, process) == 0) continue;
      all_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return all_well;
  }

 private:
  bool start(std::span<char* const> arguments, std::vector<std::string>& own) {
    std::vector<char*> environment;
    for (std::string& variable : own) environment.push_back(variable.data());
    for (char** it = environ; *it != nullptr; ++it) {
      if (!is_set_in(own, *it)) environment.push_back(*it);
    }
    environment.push_back(nullptr);
    std::vector<char*> words(arguments.begin(), arguments.end());
    words.push_back(nullptr);
    pid_t process = 0;
    const int error =
        posix_spawn(&process, "/proc/self/exe", nullptr, nullptr, words.data(), environment.data());
    if (error == 0) processes_.push_back(process);
    return error == 0;
  }
  static bool is_set_in(const std::vector<std::string>& variables, const std::string& other) {
    const std::string name = other.substr(0, other.find('=') + 1);
    for (const std::string& variable : variables) {
      if (variable.starts_with(name)) return true;
    }
    return false;
  }

  std::string directory_;
  std::vector<pid_t> processes_;
  bool all_started_ = false;
};

}  // namespace tutti::bench
