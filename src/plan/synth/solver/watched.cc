#include "plan/synth/solver/watched.h"

#include <fmt/format.h>

#include <chrono>

#include "base/try.h"

namespace tutti::plan::solver {
namespace {

constexpr size_t kMostLines = 6;

}  // namespace

Error Watched::no_answer(std::string_view name) const {
  std::string quoted;
  for (const std::string& line : last_lines) quoted += "\n  " + line;
  return {ErrorCode::kIo,
          fmt::format("{} ended without an answer; its last words:{}", name, quoted)};
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
  child.seconds = options.seconds + program.seconds_beyond;
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
