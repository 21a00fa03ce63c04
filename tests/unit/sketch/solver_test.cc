#include "plan/synth/solver/solver.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "plan/synth/solver/cbc_log.h"
#include "plan/synth/solver/child.h"
#include "plan/synth/solver/highs_log.h"
#include "plan/synth/solver/watched.h"

namespace tutti::plan::solver {
namespace {

using testing::HasSubstr;

// Every solver that is installed.
class SolverTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto found = find_solver(GetParam());
    if (!found) GTEST_SKIP() << "NOT RUN: " << found.error().message;
    solver_ = *std::move(found);
  }
  Solver& solver() { return *solver_; }

 private:
  std::unique_ptr<Solver> solver_;
};
INSTANTIATE_TEST_SUITE_P(Installed, SolverTest, testing::Values("cbc", "highs"),
                         [](const auto& at) { return std::string(at.param); });

TEST_P(SolverTest, KnapsackOfThreeIsSolved) {
  Milp milp;  // values 10, 13, 7 and weights 3, 4, 2 within 6: the last two, 20
  const VarId a = milp.add_binary(-10);
  const VarId b = milp.add_binary(-13);
  const VarId c = milp.add_binary(-7);
  milp.at_most({{a, 3}, {b, 4}, {c, 2}}, 6);
  const Solution solution = solver().solve(milp, {}).value();
  EXPECT_EQ(solution.outcome, Outcome::kOptimal);
  EXPECT_EQ(solution.cost, -20);
  EXPECT_EQ(solution.bound, -20);
  EXPECT_EQ((std::vector{solution.is_set(a), solution.is_set(b), solution.is_set(c)}),
            (std::vector{false, true, true}));
}

TEST_P(SolverTest, EqualitiesRangesAndFreeVariablesAreKept) {
  Milp milp;
  const VarId x = milp.add({.low = -kInfinity, .high = 10, .cost = 1});
  const VarId y = milp.add({.low = -3, .high = 3, .cost = 0});
  milp.equal({{x, 1}, {y, 1}}, 1);
  milp.rows.push_back({{{x, 1}, {y, -1}}, -4, 8});  // 2x - 1 within -4 .. 8
  const Solution solution = solver().solve(milp, {}).value();
  EXPECT_EQ(solution.outcome, Outcome::kOptimal);
  EXPECT_DOUBLE_EQ(solution.cost, -1.5);
  EXPECT_DOUBLE_EQ(solution.values[y.value], 2.5);
}

TEST_P(SolverTest, TermsThatNameAVariableTwiceAreAddedUp) {
  Milp milp;
  const VarId x = milp.add({.low = 0, .high = 100, .cost = -1});
  milp.at_most({{x, 1}, {x, 2}}, 12);
  EXPECT_DOUBLE_EQ(solver().solve(milp, {})->cost, -4);
}

TEST_P(SolverTest, WholeNumbersAboveOneAreFound) {
  Milp milp;
  const VarId x = milp.add({.low = 0, .high = kInfinity, .cost = 1, .kind = VarKind::kInteger});
  milp.at_least({{x, 2}}, 7);
  const Solution solution = solver().solve(milp, {}).value();
  EXPECT_EQ(solution.cost, 4);
}

TEST_P(SolverTest, LeavesNoFileWhereWeStand) {
  const auto count = [] {
    const std::filesystem::directory_iterator all(std::filesystem::current_path());
    return std::distance(begin(all), end(all));
  };
  const auto before = count();
  Milp milp;
  milp.add_binary(-1);
  ASSERT_TRUE(solver().solve(milp, {}));
  EXPECT_EQ(count(), before);
}

TEST_P(SolverTest, WhatCannotBeIsInfeasible) {
  Milp milp;
  const VarId x = milp.add_binary(1);
  milp.at_least({{x, 1}}, 2);
  EXPECT_EQ(solver().solve(milp, {})->outcome, Outcome::kInfeasible);
}

TEST_P(SolverTest, WhatOnlyWholeNumbersForbidIsInfeasibleToo) {
  Milp milp;
  const VarId x = milp.add_binary();
  const VarId y = milp.add_binary();
  milp.equal({{x, 2}, {y, 2}}, 3);
  EXPECT_EQ(solver().solve(milp, {})->outcome, Outcome::kInfeasible);
}

TEST_P(SolverTest, AProblemWithoutVariablesIsSolved) {
  EXPECT_EQ(solver().solve({}, {})->outcome, Outcome::kOptimal);
}

// Forty numbers, six sums to be halved at once: far beyond what a second can prove.
Milp hard_problem() {
  Milp milp;
  uint32_t seed = 12345;
  const auto next = [&] { return seed = seed * 1664525u + 1013904223u, (seed >> 16) % 100; };
  std::vector<VarId> chosen;
  for (int i = 0; i < 40; ++i) chosen.push_back(milp.add_binary());
  for (int row = 0; row < 6; ++row) {
    std::vector<Term> terms;
    double sum = 0;
    for (const VarId x : chosen) {
      terms.push_back({x, static_cast<double>(next())});
      sum += terms.back().factor;
    }
    terms.push_back({milp.add({.cost = 1}), 1});
    terms.push_back({milp.add({.cost = 1}), -1});
    milp.equal(std::move(terms), static_cast<double>(static_cast<int>(sum) / 2));
  }
  return milp;
}

TEST_P(SolverTest, WhenTimeIsUpTheBestSoFarIsReturnedWithItsBound) {
  SolveOptions options;
  options.seconds = 1.5;
  const Solution solution = solver().solve(hard_problem(), options).value();
  ASSERT_EQ(solution.outcome, Outcome::kIncumbent);
  EXPECT_FALSE(solution.was_stopped);
  EXPECT_GE(solution.bound, 0);
  EXPECT_LE(solution.bound, solution.cost);
  EXPECT_EQ(solution.values.size(), 52u);
}

TEST_P(SolverTest, BeginsWithTheSolutionThatItIsGiven) {
  const Milp milp = hard_problem();
  SolveOptions first;
  first.seconds = 1.5;
  const Solution known = solver().solve(milp, first).value();
  ASSERT_TRUE(known.has_values());
  SolveOptions again = first;
  again.start = known.values;
  const Solution solution = solver().solve(milp, again).value();
  ASSERT_TRUE(solution.has_values());
  EXPECT_LE(solution.cost, known.cost + 1e-6);
}

TEST_P(SolverTest, AStopKeepsTheBestSoFar) {
  SolveOptions options;
  options.seconds = 300;
  bool has_solution = false;
  options.progress = [&](const Progress& progress) {
    has_solution |= progress.incumbent.has_value();
  };
  options.stop = [&] { return has_solution; };
  const Solution solution = solver().solve(hard_problem(), options).value();
  EXPECT_EQ(solution.outcome, Outcome::kIncumbent);
  EXPECT_TRUE(solution.was_stopped);
}

TEST(MissingSolver, IsAnErrorThatSaysWhatToInstall) {
  const std::string path = std::getenv("PATH");
  ASSERT_EQ(setenv("PATH", "/nowhere", 1), 0);
  const auto found = find_solver();
  ASSERT_EQ(setenv("PATH", path.c_str(), 1), 0);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(found.error().message, HasSubstr("apt-get install coinor-cbc"));
}

TEST(MissingSolver, OneThatNobodyKnowsIsNamed) {
  const auto found = find_solver("oracle");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(found.error().message, HasSubstr("'oracle'"));
}

TEST(MissingSolver, AProgramThatCannotBeRunIsNamed) {
  Milp milp;
  milp.add_binary();
  const auto answer = make_cbc("/nowhere/cbc")->solve(milp, {});
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("/nowhere/cbc"));
}

TEST(MissingSolver, AProgramThatIsNoSolverIsAnErrorWithItsLastWords) {
  Milp milp;
  milp.add_binary();
  const auto answer = make_cbc("/bin/echo")->solve(milp, {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kIo);
  EXPECT_THAT(answer.error().message, HasSubstr("-timeMode"));
}

// A solver that does what the lines of shell say, asked for one binary.
class FakeSolver : public testing::Test {
 protected:
  Error error_of(const std::string& lines) {
    const PrivateFolder folder = PrivateFolder::make().value();
    const std::string program = folder.file("cbc");
    EXPECT_TRUE(base::write_file(program, "#!/bin/sh\n" + lines).ok());
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    Milp milp;
    milp.add_binary();
    const auto answer = make_cbc(program)->solve(milp, {});
    EXPECT_FALSE(answer.ok());
    return answer.error();
  }
};

TEST_F(FakeSolver, ThatFailsIsAnErrorWithItsExitCodeAndLastLines) {
  const Error error = error_of("echo first; echo 'no licence' >&2; exit 3\n");
  EXPECT_EQ(error.code, ErrorCode::kIo);
  EXPECT_THAT(error.message, HasSubstr("cbc ended without an answer, after "));
  EXPECT_THAT(error.message,
              HasSubstr(" s with exit code 3; its last words:\n  first\n  no licence"));
}

TEST_F(FakeSolver, ThatCrashesIsAnErrorWithItsSignal) {
  EXPECT_THAT(error_of("echo deep; kill -SEGV $$\n").message,
              HasSubstr("by signal 11 (Segmentation fault); its last words:\n  deep"));
}

TEST_F(FakeSolver, ThatTheSystemKillsIsAnErrorThatSaysWhy) {
  EXPECT_THAT(error_of("kill -KILL $$\n").message,
              HasSubstr("by signal 9 (Killed); the system does that when memory is short; it said "
                        "nothing"));
}

TEST_F(FakeSolver, ThatWritesNoSolutionIsAnErrorThoughItSaysAllIsWell) {
  EXPECT_THAT(error_of("echo optimal; exit 0\n").message, HasSubstr("with exit code 0;"));
}

Watched watched_of(const std::string& lines, const SolveOptions& options) {
  WatchedProgram program{.name = "fake", .words = {"/bin/sh", "-c", lines}};
  program.grace_seconds = 0.05;
  program.read_line = read_cbc_line;
  return watch(program, options).value();
}

TEST(WatchedSolver, ThatHasNoTimeLeftSaysSo) {
  const Watched watched =
      watched_of("echo busy; trap '' INT; while :; do :; done", {.seconds = 0.3});
  const std::string message = watched.no_answer("fake").message;
  EXPECT_THAT(message, HasSubstr("by signal 9 (Killed), having been told to stop when its 0.3 s"));
  EXPECT_THAT(message, HasSubstr("--solver-seconds; its last words:\n  busy"));
}

TEST(WatchedSolver, ThatSomebodyStoppedSaysSo) {
  const Watched watched =
      watched_of("while :; do :; done", {.seconds = 1000, .stop = [] { return true; }});
  EXPECT_THAT(watched.no_answer("fake").message,
              HasSubstr("by signal 2 (Interrupt), having been told to stop; it said nothing"));
}

TEST(Child, LinesComeOneByOneAndTheLastNeedsNoEnd) {
  std::vector<std::string> lines;
  ChildOptions options;
  options.line = [&](std::string_view line) { lines.emplace_back(line); };
  const ChildEnd end =
      run_child({"/bin/sh", "-c", "echo one; echo two >&2; printf three; exit 3"}, options).value();
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_FALSE(end.was_interrupted);
}

TEST(Child, OneThatIgnoresAnInterruptIsKilled) {
  ChildOptions options;
  options.seconds = 0.05;
  options.grace_seconds = 0.05;
  const ChildEnd end =
      run_child({"/bin/sh", "-c", "trap '' INT; while :; do :; done"}, options).value();
  EXPECT_TRUE(end.was_interrupted);
  EXPECT_TRUE(end.was_killed);
}

TEST(Child, OneThatIsAbandonedIsKilledAtOnce) {
  ChildOptions options;
  options.seconds = options.grace_seconds = 1000;
  options.abandon = [] { return true; };
  const ChildEnd end = run_child({"/bin/sh", "-c", "trap '' INT; sleep 1000"}, options).value();
  EXPECT_TRUE(end.was_abandoned);
  EXPECT_TRUE(end.was_killed);
  EXPECT_FALSE(end.was_interrupted);
}

TEST(CbcLog, TellsIncumbentAndBound) {
  Progress progress;
  EXPECT_TRUE(read_cbc_line("Continuous objective value is 53.6667 - 0.01 seconds", progress));
  EXPECT_EQ(progress.bound, 53.6667);
  EXPECT_FALSE(progress.gap());
  EXPECT_TRUE(read_cbc_line(
      "Cbc0012I Integer solution of 92 found by DiveCoefficient after 9 iterations", progress));
  EXPECT_TRUE(read_cbc_line(
      "Cbc0010I After 100 nodes, 56 on tree, 69 best solution, best possible 55.2 (1.05 seconds)",
      progress));
  EXPECT_EQ(progress.incumbent, 69);
  EXPECT_EQ(progress.bound, 55.2);
  EXPECT_DOUBLE_EQ(*progress.gap(), 0.2);
  EXPECT_FALSE(read_cbc_line("Cbc0031I 7 added rows had average density of 21", progress));
}

TEST(CbcLog, NoSolutionYetIsNoIncumbent) {
  Progress progress;
  EXPECT_TRUE(read_cbc_line(
      "Cbc0010I After 0 nodes, 1 on tree, 1e+50 best solution, best possible 8 (0.5 seconds)",
      progress));
  EXPECT_FALSE(progress.incumbent);
  EXPECT_EQ(progress.bound, 8);
}

TEST(CbcLog, SolutionFilesAreRead) {
  const Solution solution =
      read_cbc_solution(
          "Stopped on time - objective value 16.5\n      1 C1   1   47\n**    2 C2  0.5  0\n", 4)
          .value();
  EXPECT_EQ(solution.outcome, Outcome::kIncumbent);
  EXPECT_EQ(solution.cost, 16.5);
  EXPECT_EQ(solution.values, (std::vector<double>{0, 1, 0.5, 0}));
}

TEST(CbcLog, AnswersThatAreNoneAreRefused) {
  EXPECT_FALSE(read_cbc_solution("", 1));
  EXPECT_FALSE(read_cbc_solution("Segmentation fault\n", 1));
  EXPECT_FALSE(read_cbc_solution("Optimal - objective value 1\n   0 C9  1 0\n", 1));
  EXPECT_EQ(read_cbc_solution(
                "Stopped on time (no integer solution - continuous used) - objective value 1\n", 1)
                ->outcome,
            Outcome::kNothingFound);
}

constexpr std::string_view kRow =
    " R       0       0         0   0.00%   -10.875         -10.5              3.57%        0      "
    "0"
    "      0         0     0.0s";

TEST(HighsLog, TellsIncumbentAndBound) {
  Progress progress;
  EXPECT_FALSE(read_highs_line("Presolving model", progress));
  EXPECT_FALSE(read_highs_line("2 rows, 3 cols, 5 nonzeros 0s", progress));
  EXPECT_TRUE(read_highs_line(
      " J       0       0         0   0.00%   -inf            -8                 Large        0"
      "      0      0         0     0.0s",
      progress));
  EXPECT_EQ(progress.incumbent, -8);
  EXPECT_FALSE(progress.bound);
  EXPECT_TRUE(read_highs_line(kRow, progress));
  EXPECT_EQ(progress.incumbent, -10.5);
  EXPECT_EQ(progress.bound, -10.875);
  EXPECT_FALSE(read_highs_line(kRow, progress));
  EXPECT_TRUE(read_highs_line("  Dual bound        -10.5", progress));
  EXPECT_EQ(progress.bound, -10.5);
  Progress fresh;
  EXPECT_TRUE(read_highs_line(
      "         0       0         0   0.00%   1.5             inf                  inf        0"
      "      0      0         0     0.0s",
      fresh));
  EXPECT_FALSE(fresh.incumbent);
  EXPECT_EQ(fresh.bound, 1.5);
}

TEST(HighsLog, SolutionFilesAreRead) {
  const std::string_view text =
      "Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective -10.5\n"
      "# Columns 3\nC0 3\nC1 0\nC2 1.5\n# Rows 0\n";
  const Solution solution = read_highs_solution(text, 3).value();
  EXPECT_EQ(solution.outcome, Outcome::kOptimal);
  EXPECT_EQ(solution.cost, -10.5);
  EXPECT_EQ(solution.values, (std::vector<double>{3, 0, 1.5}));
  EXPECT_FALSE(read_highs_solution(text, 4));
  const auto status = [](std::string_view word, std::string_view values) {
    return read_highs_solution(
               fmt::format("Model status\n{}\n\n# Primal solution values\n{}\n", word, values), 1)
        ->outcome;
  };
  EXPECT_EQ(status("Infeasible", "None"), Outcome::kInfeasible);
  EXPECT_EQ(status("Unbounded", "None"), Outcome::kUnbounded);
  EXPECT_EQ(status("Time limit reached", "None"), Outcome::kNothingFound);
  EXPECT_EQ(status("Time limit reached", "Feasible\nObjective 2\n# Columns 1\nC0 2"),
            Outcome::kIncumbent);
  EXPECT_FALSE(read_highs_solution("nonsense", 1));
  EXPECT_FALSE(read_highs_solution("", 1));
}

TEST(HighsLog, TheLastSolutionThatWasWrittenWholeCounts) {
  const std::string whole = "Objective 7\n# Columns 2\nC0 1\nC1 0\n";
  EXPECT_EQ(last_highs_improvement(whole, 2).cost, 7);
  const Solution cut = last_highs_improvement(whole + "Objective 5\n# Columns 2\nC0 1\nC1", 2);
  EXPECT_EQ(cut.outcome, Outcome::kIncumbent);
  EXPECT_EQ(cut.cost, 7);
  EXPECT_EQ(last_highs_improvement(whole + "Objective 5\n# Columns 2\nC0 0\nC1 1\n", 2).cost, 5);
  EXPECT_EQ(last_highs_improvement("", 2).outcome, Outcome::kNothingFound);
}

}  // namespace
}  // namespace tutti::plan::solver
