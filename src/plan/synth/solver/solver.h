// Solvers of mixed-integer linear problems, whoever wrote them. One solve is one child process, so
// a solver that is slow, leaks or crashes takes nothing down with it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/synth/solver/milp.h"
#include "tutti/result.h"

namespace tutti::plan::solver {

// What is known while a solve runs.
struct Progress {
  double seconds = 0;
  std::optional<double> incumbent;  // cost of the best solution so far
  std::optional<double> bound;      // no solution costs less

  // (incumbent - bound) / |incumbent|, when both are known.
  [[nodiscard]] std::optional<double> gap() const;
};

struct SolveOptions {
  double seconds = 60;  // of wall clock; then the best solution so far counts
  double gap = 0;       // a solution so close to the bound, relatively, is good enough
  // A solution to begin with, by variable; only whole-number variables are looked at. Empty: none.
  std::vector<double> start = {};
  // Called whenever more is known. Must not throw.
  std::function<void(const Progress&)> progress = {};
  // Asked several times a second; true ends the solve, and the best solution so far counts.
  std::function<bool()> stop = {};
  // The same; true kills the solver, and the answer is kAborted.
  std::function<bool()> abandon = {};
};

enum class Outcome {
  kOptimal,       // within the gap asked for
  kIncumbent,     // time was up or somebody stopped it; there is a solution
  kNothingFound,  // the same, and there is none
  kInfeasible,    // proved: there is no solution
  kUnbounded,
};

struct Solution {
  Outcome outcome = Outcome::kNothingFound;
  double cost = 0;
  double bound = -kInfinity;
  std::vector<double> values = {};  // by variable; empty without a solution
  double seconds = 0;
  bool was_stopped = false;  // by SolveOptions::stop

  [[nodiscard]] bool has_values() const {
    return outcome == Outcome::kOptimal || outcome == Outcome::kIncumbent;
  }
  [[nodiscard]] bool is_set(VarId variable) const { return values[variable.value] > 0.5; }
};

class Solver {
 public:
  virtual ~Solver() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // kIo when the program cannot be run or says what cannot be understood, with its last words;
  // kAborted when it was abandoned.
  [[nodiscard]] virtual Result<Solution> solve(const Milp& milp, const SolveOptions& options) = 0;
};

// "cbc" or "highs", if it is on PATH; without a name the first of these that is. kNotFound saying
// what to install when it is not; kInvalidArgument for another name.
[[nodiscard]] Result<std::unique_ptr<Solver>> find_solver(std::string_view name = "");

// COIN-OR's `cbc` at this path.
[[nodiscard]] std::unique_ptr<Solver> make_cbc(std::string program);

// HiGHS' `highs` at this path.
[[nodiscard]] std::unique_ptr<Solver> make_highs(std::string program);

}  // namespace tutti::plan::solver
