// A mixed-integer linear problem as plain data: variables with bounds and costs, rows that bound
// sums of them; the cost is to be least. It knows no solver, and no solver's names or limits.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/ids.h"

namespace tutti::plan::solver {

using VarId = Id<struct VarTag>;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

enum class VarKind : uint8_t { kContinuous, kInteger };

struct Variable {
  double low = 0;
  double high = kInfinity;
  double cost = 0;
  VarKind kind = VarKind::kContinuous;
};

struct Term {
  VarId variable;
  double factor = 1;
};

// low <= sum of terms <= high; either may be infinite, not both.
struct Row {
  std::vector<Term> terms;
  double low = -kInfinity;
  double high = kInfinity;
};

struct Milp {
  std::vector<Variable> variables;
  std::vector<Row> rows;

  VarId add(const Variable& variable);
  VarId add_binary(double cost = 0);
  void at_least(std::vector<Term> terms, double low);
  void at_most(std::vector<Term> terms, double high);
  void equal(std::vector<Term> terms, double value);

  [[nodiscard]] uint64_t num_integers() const;
};

// MPS, which every solver reads: variable i is C<i>, row i R<i>. Terms that name a variable twice
// are added up.
[[nodiscard]] std::string to_mps(const Milp& milp);

}  // namespace tutti::plan::solver
