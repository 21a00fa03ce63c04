// A solver's program while it runs: its log read for progress, and what it said last, for the error
// that says it gave no answer.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/synth/solver/child.h"
#include "plan/synth/solver/solver.h"
#include "tutti/result.h"

namespace tutti::plan::solver {

struct WatchedProgram {
  std::string_view name;  // as errors call it
  std::vector<std::string> words = {};
  double seconds_beyond = 0;  // its own limit, before it is interrupted
  double grace_seconds = 5;   // then, before it is killed
  bool (*read_line)(std::string_view line, Progress& progress) = nullptr;  // true: there is news

  void say(std::string option, std::string value) {
    words.push_back(std::move(option));
    words.push_back(std::move(value));
  }
};

struct Watched {
  ChildEnd end;
  double limit_seconds = 0;  // when it was interrupted, unless somebody stopped it before
  Progress progress;
  std::deque<std::string> last_lines;

  // It ended without an answer: kIo, saying how it ended, with its last words.
  [[nodiscard]] Error no_answer(std::string_view name) const;
  // Seconds, whether it was stopped, and the bound that its log told.
  void describe(Solution& solution, const SolveOptions& options) const;
};

// kAborted when options.abandon says so; errors of run_child.
[[nodiscard]] Result<Watched> watch(const WatchedProgram& program, const SolveOptions& options);

}  // namespace tutti::plan::solver
