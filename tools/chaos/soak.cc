#include "tools/chaos/soak.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/try.h"
#include "tools/chaos/leftovers.h"
#include "tools/exit_code.h"
#include "tools/launch/descriptor.h"
#include "tools/terminal.h"

namespace tutti::tools::chaos {
namespace {

using Clock = std::chrono::steady_clock;

struct Finished {
  int exit_code = 0;
  std::string output;
};

std::atomic<pid_t> run_under_way{0};  // 0: none
std::atomic<int> interrupted_by{0};   // the signal

// The run ends in its own way, which leaves nothing behind; then what was done so far is printed.
void interrupt(int signal) {
  interrupted_by = signal;
  const pid_t pid = run_under_way;
  if (pid != 0) kill(pid, signal);
}

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = interrupt;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

std::string text_of(const launch::Descriptor& file) {
  std::string text;
  std::array<char, 4096> part{};
  off_t offset = 0;
  for (;;) {
    const ssize_t got = pread(file.get(), part.data(), part.size(), offset);
    if (got <= 0) return text;
    text.append(part.data(), static_cast<size_t>(got));
    offset += got;
  }
}

// Runs this program with these settings; what it prints is kept.
Result<Finished> run_once(const Settings& settings) {
  std::vector<std::string> words{"tutti"};
  for (std::string& word : command_of(settings)) words.push_back(std::move(word));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const launch::Descriptor output(memfd_create("output of a run", MFD_CLOEXEC));
  if (!output.is_open()) return launch::system_error("memfd_create");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_adddup2(&actions, output.get(), stream);
  }
  // A group of its own: what is typed at the terminal reaches it through us, once.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    errno = error;
    return launch::system_error("start a run");
  }
  run_under_way = pid;
  if (interrupted_by != 0) interrupt(interrupted_by);  // before the run could be told
  int status = 0;
  // Liveness: every operation of the run has a deadline, so the run ends.
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  run_under_way = 0;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return Finished{code, text_of(output)};
}

// The JSON that the run printed among other lines.
nlohmann::json report_in(const std::string& output) {
  const size_t begin = output.find('{');
  const size_t end = output.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  return nlohmann::json::parse(output.substr(begin, end - begin + 1), nullptr, false);
}

class Tally {
 public:
  explicit Tally(const Soak& soak) : soak_(soak) {}

  [[nodiscard]] bool is_over() const {
    const bool time_is_up = soak_.duration && Clock::now() - begin_ >= *soak_.duration;
    return time_is_up || (soak_.num_seeds != 0 && num_runs_ >= soak_.num_seeds);
  }

  void add(const nlohmann::json& report) {
    ++num_runs_;
    if (!report.is_object()) return;
    num_operations_ += report.value("operations", uint64_t{0});
    slowest_ms_ = std::max(slowest_ms_, report.value("known_to_all_after_ms", 0.0));
    num_kills_ += report.contains("killed") ? 1 : 0;
  }

  void show_progress() const {
    if (isatty(STDERR_FILENO) == 0) return;
    fmt::print(stderr, "\r{:.0f} s, {} runs, all right", seconds(), num_runs_);
  }

  void print(const Settings& settings, const std::string& failure) const {
    if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[K");
    if (settings.json) {
      const nlohmann::json json{
          {"runs", num_runs_},           {"seconds", seconds()},
          {"first_seed", settings.seed}, {"operations", num_operations_},
          {"kills", num_kills_},         {"known_to_all_after_ms", slowest_ms_},
          {"failure", failure}};
      fmt::print("{}\n", json.dump(2));
      return;
    }
    fmt::print("{} runs of {} ranks were right, in {:.0f} s, from seed {} on\n", num_runs_,
               settings.num_ranks, seconds(), settings.seed);
    if (num_operations_ != 0)
      fmt::print("  operations    {}, every element exact\n", num_operations_);
    if (num_kills_ != 0) {
      fmt::print("  killed        {} ranks, each named by all survivors within {:.1f} ms\n",
                 num_kills_, slowest_ms_);
    }
    if (failure.empty()) {
      fmt::print("  left behind   nothing: no process, no file, no shared memory, no descriptor\n");
    }
  }

 private:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }

  const Soak& soak_;
  Clock::time_point begin_ = Clock::now();
  uint64_t num_runs_ = 0;
  uint64_t num_operations_ = 0;
  uint64_t num_kills_ = 0;
  double slowest_ms_ = 0;
};

// Empty: all right.
Result<std::string> run_and_judge(const Settings& settings, const Leftovers& leftovers,
                                  Tally& tally) {
  Settings once = settings;
  once.json = true;
  TUTTI_ASSIGN(const Finished finished, run_once(once));
  std::string failure;
  if (finished.exit_code != kYes) {
    failure = fmt::format("ended with code {}\n{}", finished.exit_code, finished.output);
  }
  const std::vector<std::string> left = leftovers.look();
  if (!left.empty()) failure += fmt::format("left behind: {}\n", fmt::join(left, "; "));
  if (failure.empty()) tally.add(report_in(finished.output));
  return failure;
}

}  // namespace

Result<Soak> soak_from(const std::string& duration, uint64_t num_seeds) {
  Soak soak;
  soak.num_seeds = num_seeds;
  if (duration.empty()) return soak;
  uint64_t number = 0;
  const char* const end = duration.data() + duration.size();
  const auto [unit, error] = std::from_chars(duration.data(), end, number);
  const std::string_view rest(unit, static_cast<size_t>(end - unit));
  const std::string_view units = "smh";
  const size_t which = rest.size() == 1 ? units.find(rest) : units.npos;
  constexpr uint64_t kMost = 1'000'000;
  if (error != std::errc() || which == units.npos || number == 0 || number > kMost) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("--for {}: write 30s, 10m or 1h", duration)};
  }
  constexpr std::array<uint64_t, 3> kSeconds{1, 60, 3600};
  soak.duration = std::chrono::seconds(number * kSeconds[which]);
  return soak;
}

int run_soak(const Settings& settings, const Soak& soak) {
  const auto leftovers = Leftovers::watch();
  if (!leftovers) return fail(leftovers.error());
  catch_interrupts();
  Tally tally(soak);
  Settings next = settings;
  while (!tally.is_over()) {
    const Result<std::string> failure = run_and_judge(next, **leftovers, tally);
    if (!failure) return fail(failure.error());
    if (interrupted_by != 0) {  // the run that it ended counts neither way
      tally.print(settings, "interrupted");
      return 128 + interrupted_by;
    }
    if (!failure->empty()) {
      tally.print(settings, *failure);
      print_error(fmt::format("the run with seed {} {}", next.seed, *failure));
      fmt::print(stderr, "again: tutti {}\n", fmt::join(command_of(next), " "));
      return kNo;
    }
    tally.show_progress();
    ++next.seed;
  }
  tally.print(settings, "");
  return kYes;
}

}  // namespace tutti::tools::chaos
