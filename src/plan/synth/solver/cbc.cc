// COIN-OR's cbc, as a child process: the problem goes in as a file, the solution comes back as one.
// Its own limit counts wall-clock time; where it does not keep it, it is interrupted, which makes
// it write down the best solution it has, and then killed.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/file.h"
#include "base/try.h"
#include "plan/synth/solver/cbc_log.h"
#include "plan/synth/solver/child.h"
#include "plan/synth/solver/last_words.h"
#include "plan/synth/solver/solver.h"

namespace tutti::plan::solver {
namespace {

constexpr double kInterruptAfter = 2;  // seconds beyond the limit that cbc was told
constexpr double kGraceSeconds = 10;   // then, to write the solution down

class Cbc final : public Solver {
 public:
  explicit Cbc(std::string program) : program_(std::move(program)) {}

  [[nodiscard]] std::string_view name() const override { return "cbc"; }

  Result<Solution> solve(const Milp& milp, const SolveOptions& options) override {
    // An empty problem is one that cbc does not read.
    if (milp.variables.empty()) return Solution{.outcome = Outcome::kOptimal, .bound = 0};
    TUTTI_ASSIGN(const PrivateFolder folder, PrivateFolder::make());
    TUTTI_TRY(base::write_file(folder.file("problem.mps"), to_mps(milp)));
    if (!options.start.empty()) {
      TUTTI_TRY(base::write_file(folder.file("start.txt"), start_text(milp, options.start)));
    }
    Progress progress;
    LastWords last_words;
    const auto start = std::chrono::steady_clock::now();
    ChildOptions child;
    child.seconds = options.seconds + kInterruptAfter;
    child.grace_seconds = kGraceSeconds;
    child.stop = options.stop;
    child.abandon = options.abandon;
    child.line = [&](std::string_view line) {
      last_words.hear(line);
      if (!read_cbc_line(line, progress)) return;
      progress.seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (options.progress) options.progress(progress);
    };
    TUTTI_ASSIGN(const ChildEnd end, run_child(command(folder, options), child));
    if (end.was_abandoned) return Error{ErrorCode::kAborted, "stopped while cbc was searching"};
    TUTTI_ASSIGN(Solution solution, read_answer(folder, milp, end, last_words));
    finish(solution, progress, options, end);
    return solution;
  }

 private:
  [[nodiscard]] std::vector<std::string> command(const PrivateFolder& folder,
                                                 const SolveOptions& options) const {
    std::vector<std::string> words = {program_, folder.file("problem.mps")};
    const auto say = [&](std::string option, std::string value) {
      words.push_back(std::move(option));
      words.push_back(std::move(value));
    };
    say("-timeMode", "elapsed");
    say("-seconds", fmt::format("{:.3f}", std::max(options.seconds, 0.1)));
    say("-ratioGap", fmt::format("{}", options.gap));
    if (!options.start.empty()) say("-mipStart", folder.file("start.txt"));
    words.emplace_back("-solve");
    say("-solution", folder.file("solution.txt"));
    return words;
  }

  // As cbc writes solutions. It finds the values of the other variables itself.
  static std::string start_text(const Milp& milp, const std::vector<double>& start) {
    std::string text = "Stopped on iterations - objective value 0\n";
    for (size_t v = 0; v < milp.variables.size(); ++v) {
      if (milp.variables[v].kind != VarKind::kInteger) continue;
      text += fmt::format("{} C{} {} 0\n", v, v, start[v]);
    }
    return text;
  }

  // Killed before it could write its solution: then there is none.
  static Result<Solution> read_answer(const PrivateFolder& folder, const Milp& milp,
                                      const ChildEnd& end, const LastWords& last_words) {
    const auto text = base::read_file(folder.file("solution.txt"));
    if (!text && end.was_interrupted) return Solution{.outcome = Outcome::kNothingFound};
    if (!text || end.was_killed) {
      return Error{ErrorCode::kIo, fmt::format("cbc ended without an answer; its last words:{}",
                                               last_words.quoted())};
    }
    return read_cbc_solution(*text, milp.variables.size());
  }

  static void finish(Solution& solution, const Progress& progress, const SolveOptions& options,
                     const ChildEnd& end) {
    solution.seconds = end.seconds;
    solution.was_stopped = end.was_interrupted && end.seconds < options.seconds;
    solution.bound = progress.bound.value_or(-kInfinity);
    if (solution.outcome != Outcome::kOptimal) return;
    // Its log tells no bound where the search ended by itself: then the solution is the best.
    if (options.gap == 0) solution.bound = solution.cost;
    solution.bound = std::min(solution.bound, solution.cost);
  }

  std::string program_;
};

}  // namespace

std::unique_ptr<Solver> make_cbc(std::string program) {
  return std::make_unique<Cbc>(std::move(program));
}

}  // namespace tutti::plan::solver
