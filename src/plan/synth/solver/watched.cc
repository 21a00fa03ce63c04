#include "plan/synth/solver/watched.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <chrono>

#include "base/try.h"

namespace tutti::plan::solver {
namespace {

constexpr size_t kMostLines = 6;

// "after 1.2 s with exit code 3"; a signal that nobody of us sent is the machine's as a rule.
std::string words_for_end(const ChildEnd& end, double limit_seconds) {
  std::string text = fmt::format("after {:.1f} s ", end.seconds);
  if (end.was_killed) {
    text += fmt::format("by signal {} ({})", end.signal, strsignal(end.signal));
  } else {
    text += fmt::format("with exit code {}", end.exit_code);
  }
  if (end.was_interrupted) {
    text += end.seconds < limit_seconds
                ? ", having been told to stop"
                : fmt::format(
                      ", having been told to stop when its {:.1f} s were over; allow more "
                      "with --solver-seconds",
                      limit_seconds);
  } else if (end.signal == SIGKILL) {
    text += "; the system does that when memory is short";
  }
  return text;
}

}  // namespace

Error Watched::no_answer(std::string_view name) const {
  std::string quoted;
  for (const std::string& line : last_lines) quoted += "\n  " + line;
  return {
      ErrorCode::kIo,
      fmt::format("{} ended without an answer, {}; {}{}", name, words_for_end(end, limit_seconds),
                  quoted.empty() ? "it said nothing" : "its last words:", quoted)};
}

void Watched::describe(Solution& solution, const SolveOptions& options) const {
  solution.seconds = end.seconds;
  solution.was_stopped = end.was_interrupted && end.seconds < options.seconds;
  solution.bound = progress.bound.value_or(-kInfinity);
}

Result<Watched> watch(const WatchedProgram& program, const SolveOptions& options) {
  Watched watched;
  const auto start = std::chrono::steady_clock::now();
  ChildOptions child;
  child.seconds = watched.limit_seconds = options.seconds + program.seconds_beyond;
  child.grace_seconds = program.grace_seconds;
  child.stop = options.stop;
  child.abandon = options.abandon;
  child.line = [&](std::string_view line) {
    if (!line.empty()) watched.last_lines.emplace_back(line);
    if (watched.last_lines.size() > kMostLines) watched.last_lines.pop_front();
    if (!program.read_line(line, watched.progress)) return;
    watched.progress.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (options.progress) options.progress(watched.progress);
  };
  TUTTI_ASSIGN(watched.end, run_child(program.words, child));
  if (watched.end.was_abandoned) {
    return Error{ErrorCode::kAborted, fmt::format("stopped while {} was searching", program.name)};
  }
  return watched;
}

}  // namespace tutti::plan::solver
