// HiGHS' program `highs`, as a child process. It keeps its own limit of wall-clock time; an
// interrupt ends it at once, and then the best of the solutions that it wrote down on its way
// counts.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/file.h"
#include "base/try.h"
#include "plan/synth/solver/child.h"
#include "plan/synth/solver/highs_log.h"
#include "plan/synth/solver/last_words.h"
#include "plan/synth/solver/solver.h"

namespace tutti::plan::solver {
namespace {

constexpr double kSecondsBeyond = 5;  // its limit, before it is interrupted

class Highs final : public Solver {
 public:
  explicit Highs(std::string program) : program_(std::move(program)) {}

  [[nodiscard]] std::string_view name() const override { return "highs"; }

  Result<Solution> solve(const Milp& milp, const SolveOptions& options) override {
    if (milp.variables.empty()) return Solution{.outcome = Outcome::kOptimal, .bound = 0};
    TUTTI_ASSIGN(const PrivateFolder folder, PrivateFolder::make());
    TUTTI_TRY(base::write_file(folder.file("problem.mps"), to_mps(milp)));
    TUTTI_TRY(base::write_file(folder.file("options.txt"), options_text(folder, options)));
    if (!options.start.empty()) {
      TUTTI_TRY(base::write_file(folder.file("start.txt"), start_for(options.start)));
    }
    Progress progress;
    LastWords last_words;
    const auto start = std::chrono::steady_clock::now();
    ChildOptions child;
    child.seconds = options.seconds + kSecondsBeyond;
    child.stop = options.stop;
    child.abandon = options.abandon;
    child.line = [&](std::string_view line) {
      last_words.hear(line);
      if (!read_highs_line(line, progress)) return;
      progress.seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (options.progress) options.progress(progress);
    };
    TUTTI_ASSIGN(const ChildEnd end, run_child(words_for(folder, options), child));
    if (end.was_abandoned) return Error{ErrorCode::kAborted, "stopped while HiGHS was searching"};
    TUTTI_ASSIGN(Solution solution, answer_in(folder, milp, end, last_words));
    solution.seconds = end.seconds;
    solution.was_stopped = end.was_interrupted && end.seconds < options.seconds;
    solution.bound = progress.bound.value_or(-kInfinity);
    if (solution.has_values()) solution.bound = std::min(solution.bound, solution.cost);
    return solution;
  }

 private:
  [[nodiscard]] std::vector<std::string> words_for(const PrivateFolder& folder,
                                                   const SolveOptions& options) const {
    std::vector<std::string> words = {program_, "--model_file", folder.file("problem.mps")};
    const auto say = [&](std::string option, std::string value) {
      words.push_back(std::move(option));
      words.push_back(std::move(value));
    };
    say("--options_file", folder.file("options.txt"));
    say("--solution_file", folder.file("solution.txt"));
    say("--time_limit", fmt::format("{:.3f}", std::max(options.seconds, 0.1)));
    if (!options.start.empty()) say("--read_solution_file", folder.file("start.txt"));
    return words;
  }

  // Without a place for its log it would write one where we stand.
  static std::string options_text(const PrivateFolder& folder, const SolveOptions& options) {
    return fmt::format("mip_rel_gap = {}\nmip_improving_solution_file = {}\nlog_file = {}\n",
                       options.gap, folder.file("improving.txt"), folder.file("log.txt"));
  }

  // As HiGHS writes solutions. Of variables that are no whole numbers it finds the values itself.
  static std::string start_for(const std::vector<double>& start) {
    std::string text = fmt::format(
        "Model status\nUnknown\n\n# Primal solution values\nFeasible\nObjective 0\n# Columns {}\n",
        start.size());
    for (size_t v = 0; v < start.size(); ++v) text += fmt::format("C{} {}\n", v, start[v]);
    return text + "# Rows 0\n";
  }

  static Result<Solution> answer_in(const PrivateFolder& folder, const Milp& milp,
                                    const ChildEnd& end, const LastWords& last_words) {
    const size_t num_variables = milp.variables.size();
    if (const auto text = base::read_file(folder.file("solution.txt")); text && !end.was_killed) {
      return read_highs_solution(*text, num_variables);
    }
    if (!end.was_interrupted) {
      return Error{ErrorCode::kIo, fmt::format("HiGHS ended without an answer; its last words:{}",
                                               last_words.quoted())};
    }
    const auto text = base::read_file(folder.file("improving.txt"));
    return last_highs_improvement(text ? std::string_view(*text) : "", num_variables);
  }

  std::string program_;
};

}  // namespace

std::unique_ptr<Solver> make_highs(std::string program) {
  return std::make_unique<Highs>(std::move(program));
}

}  // namespace tutti::plan::solver
