// HiGHS' program `highs`, as a child process. It keeps its own limit of wall-clock time; an
// interrupt ends it at once, and then the best of the solutions that it wrote down on its way
// counts.
#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/try.h"
#include "plan/synth/solver/child.h"
#include "plan/synth/solver/highs_log.h"
#include "plan/synth/solver/solver.h"
#include "plan/synth/solver/watched.h"

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
    TUTTI_ASSIGN(const Watched watched, watch(program_for(folder, options), options));
    TUTTI_ASSIGN(Solution solution, answer_in(folder, milp, watched));
    watched.describe(solution, options);
    if (solution.has_values()) solution.bound = std::min(solution.bound, solution.cost);
    return solution;
  }

 private:
  [[nodiscard]] WatchedProgram program_for(const PrivateFolder& folder,
                                           const SolveOptions& options) const {
    WatchedProgram program{.name = "HiGHS"};
    program.seconds_beyond = kSecondsBeyond;
    program.read_line = read_highs_line;
    program.words = {program_};
    program.say("--model_file", folder.file("problem.mps"));
    program.say("--options_file", folder.file("options.txt"));
    program.say("--solution_file", folder.file("solution.txt"));
    program.say("--time_limit", fmt::format("{:.3f}", std::max(options.seconds, 0.1)));
    if (!options.start.empty()) program.say("--read_solution_file", folder.file("start.txt"));
    return program;
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
                                    const Watched& watched) {
    const size_t num_variables = milp.variables.size();
    const auto solved = base::read_file(folder.file("solution.txt"));
    if (solved && !watched.end.was_killed) return read_highs_solution(*solved, num_variables);
    if (!watched.end.was_interrupted) return watched.no_answer("HiGHS");
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
