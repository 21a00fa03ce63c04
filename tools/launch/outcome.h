// How a rank ended, in words and as an exit code; and what a whole job's outcome is.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tutti::tools::launch {

struct Outcome {
  int exit_code = 0;
  int signal = 0;  // 0: it exited
  bool dumped_core = false;

  [[nodiscard]] bool succeeded() const { return signal == 0 && exit_code == 0; }
};

// "SIGSEGV", or "signal 40" for one without a name.
[[nodiscard]] std::string signal_name(int signal);
// "exited with code 3", "was killed by SIGSEGV (core dumped)".
[[nodiscard]] std::string describe(const Outcome& outcome);
// As shells have it: 128 + signal for a death by signal.
[[nodiscard]] int exit_code_of(const Outcome& outcome);
// "rank 3", "ranks 0-3,7"; the ranks ascend.
[[nodiscard]] std::string describe_ranks(const std::vector<uint32_t>& ranks);

// Collects how the ranks ended and decides what is said about it and with which code the launcher
// exits: that of the first rank to fail by itself.
class Verdict {
 public:
  struct Ended {
    uint32_t rank;
    pid_t pid;
    Outcome outcome;
    double seconds;
  };
  // kLostReader: it wrote to an output that nobody reads any more.
  enum class Cause { kItself, kPassedOnSignal, kLostReader, kOurSigterm, kOurSigkill };

  // The line to print at once about a rank that ended, if there is one. Many failures are only
  // counted: the first few tell the story, a thousand hide it.
  [[nodiscard]] std::optional<std::string> add(const Ended& ended, Cause cause);
  // The lines to print at the end.
  [[nodiscard]] std::vector<std::string> summary() const;

  // The job ended for a reason of its own; unless a rank had failed before.
  void end_with(int exit_code);
  [[nodiscard]] int exit_code() const { return exit_code_.value_or(0); }

 private:
  static constexpr size_t kMaxAnnounced = 8;

  std::optional<int> exit_code_;
  size_t num_to_announce_ = 0;
  std::vector<uint32_t> failed_;
  std::vector<uint32_t> terminated_;
  std::vector<uint32_t> killed_;
};

}  // namespace tutti::tools::launch
