// Tests of synthesis need a solver, which is a program that may be missing; then they say so.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "plan/synth/solver/solver.h"

namespace tutti::test {

class WithSolver : public testing::Test {
 protected:
  void SetUp() override {
    auto found = plan::solver::find_solver();
    if (!found) GTEST_SKIP() << "NOT RUN: " << found.error().message;
    solver_ = *std::move(found);
  }
  plan::solver::Solver& solver() { return *solver_; }

 private:
  std::unique_ptr<plan::solver::Solver> solver_;
};

}  // namespace tutti::test
