// COIN-OR's cbc, as a child process: the problem goes in as a file, the solution comes back as one.
// Its own limit counts wall-clock time; where it does not keep it, it is interrupted, which makes
// it write down the best solution it has, and then killed.
#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/try.h"
#include "plan/synth/solver/cbc_log.h"
#include "plan/synth/solver/child.h"
#include "plan/synth/solver/solver.h"
#include "plan/synth/solver/watched.h"

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
    TUTTI_ASSIGN(const Watched watched, watch(program_for(folder, options), options));
    TUTTI_ASSIGN(Solution solution, read_answer(folder, milp, watched));
    watched.describe(solution, options);
    if (solution.outcome != Outcome::kOptimal) return solution;
    // Its log tells no bound where the search ended by itself: then the solution is the best.
    if (options.gap == 0) solution.bound = solution.cost;
    solution.bound = std::min(solution.bound, solution.cost);
    return solution;
  }

 private:
  [[nodiscard]] WatchedProgram program_for(const PrivateFolder& folder,
                                           const SolveOptions& options) const {
    WatchedProgram program{.name = "cbc"};
    program.seconds_beyond = kInterruptAfter;
    program.grace_seconds = kGraceSeconds;
    program.read_line = read_cbc_line;
    program.words = {program_, folder.file("problem.mps"), "-timeMode", "elapsed"};
    program.say("-seconds", fmt::format("{:.3f}", std::max(options.seconds, 0.1)));
    program.say("-ratioGap", fmt::format("{}", options.gap));
    if (!options.start.empty()) program.say("-mipStart", folder.file("start.txt"));
    program.words.emplace_back("-solve");
    program.say("-solution", folder.file("solution.txt"));
    return program;
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
                                      const Watched& watched) {
    const auto text = base::read_file(folder.file("solution.txt"));
    if (!text && watched.end.was_interrupted) {
      return Solution{.outcome = Outcome::kNothingFound};
    }
    if (!text || watched.end.was_killed) return watched.no_answer("cbc");
    return read_cbc_solution(*text, milp.variables.size());
  }

  std::string program_;
};

}  // namespace

std::unique_ptr<Solver> make_cbc(std::string program) {
  return std::make_unique<Cbc>(std::move(program));
}

}  // namespace tutti::plan::solver
