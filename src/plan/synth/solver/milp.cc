#include "plan/synth/solver/milp.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace tutti::plan::solver {
namespace {

// What stands in one column: its row, or the cost where the row is kCostRow.
constexpr uint32_t kCostRow = UINT32_MAX;
struct ColumnEntry {
  uint32_t row;
  double factor;
};

bool is_range(const Row& row) {
  return row.low != row.high && row.low > -kInfinity && row.high < kInfinity;
}

char row_letter(const Row& row) {
  if (row.low == row.high) return 'E';
  return row.low > -kInfinity ? 'G' : 'L';
}

std::vector<std::vector<ColumnEntry>> columns_of(const Milp& milp) {
  std::vector<std::vector<ColumnEntry>> columns(milp.variables.size());
  for (uint32_t v = 0; v < milp.variables.size(); ++v) {
    if (milp.variables[v].cost != 0) columns[v].push_back({kCostRow, milp.variables[v].cost});
  }
  for (uint32_t r = 0; r < milp.rows.size(); ++r) {
    std::map<uint32_t, double> sums;
    for (const Term& term : milp.rows[r].terms) sums[term.variable.value] += term.factor;
    for (const auto& [v, factor] : sums) {
      if (factor != 0) columns[v].push_back({r, factor});
    }
  }
  return columns;
}

void append_column(std::string& text, uint32_t v, const std::vector<ColumnEntry>& entries) {
  const auto out = std::back_inserter(text);
  // A column that stands nowhere still has to be named, or its bounds would be those of a stranger.
  if (entries.empty()) fmt::format_to(out, "    C{}  COST  0\n", v);
  for (const ColumnEntry& entry : entries) {
    if (entry.row == kCostRow) {
      fmt::format_to(out, "    C{}  COST  {}\n", v, entry.factor);
    } else {
      fmt::format_to(out, "    C{}  R{}  {}\n", v, entry.row, entry.factor);
    }
  }
}

void append_bounds(std::string& text, uint32_t v, const Variable& variable) {
  const auto out = std::back_inserter(text);
  if (variable.low == -kInfinity) {
    fmt::format_to(out, " MI BND  C{}\n", v);
  } else {
    fmt::format_to(out, " LO BND  C{}  {}\n", v, variable.low);
  }
  if (variable.high < kInfinity) {
    fmt::format_to(out, " UP BND  C{}  {}\n", v, variable.high);
  } else if (variable.kind == VarKind::kInteger) {
    fmt::format_to(out, " PL BND  C{}\n", v);  // readers differ in what they take for granted
  }
}

}  // namespace

VarId Milp::add(const Variable& variable) {
  variables.push_back(variable);
  return VarId(static_cast<uint32_t>(variables.size() - 1));
}

VarId Milp::add_binary(double cost) {
  return add({.low = 0, .high = 1, .cost = cost, .kind = VarKind::kInteger});
}

void Milp::at_least(std::vector<Term> terms, double low) {
  rows.push_back({std::move(terms), low, kInfinity});
}

void Milp::at_most(std::vector<Term> terms, double high) {
  rows.push_back({std::move(terms), -kInfinity, high});
}

void Milp::equal(std::vector<Term> terms, double value) {
  rows.push_back({std::move(terms), value, value});
}

uint64_t Milp::num_integers() const {
  return static_cast<uint64_t>(
      std::count_if(variables.begin(), variables.end(),
                    [](const Variable& v) { return v.kind == VarKind::kInteger; }));
}

std::string to_mps(const Milp& milp) {
  std::string text = "NAME tutti FREE\nROWS\n N  COST\n";
  const auto out = std::back_inserter(text);
  for (size_t r = 0; r < milp.rows.size(); ++r) {
    fmt::format_to(out, " {}  R{}\n", row_letter(milp.rows[r]), r);
  }
  text += "COLUMNS\n";
  const auto columns = columns_of(milp);
  bool in_integers = false;
  const auto mark = [&](bool integers) {
    if (integers == in_integers) return;
    text += integers ? "    MARK  'MARKER'  'INTORG'\n" : "    MARK  'MARKER'  'INTEND'\n";
    in_integers = integers;
  };
  for (uint32_t v = 0; v < columns.size(); ++v) {
    mark(milp.variables[v].kind == VarKind::kInteger);
    append_column(text, v, columns[v]);
  }
  mark(false);
  text += "RHS\n";
  for (size_t r = 0; r < milp.rows.size(); ++r) {
    const Row& row = milp.rows[r];
    const double side = row_letter(row) == 'L' ? row.high : row.low;
    if (side != 0) fmt::format_to(out, "    RHS  R{}  {}\n", r, side);
  }
  if (std::any_of(milp.rows.begin(), milp.rows.end(), is_range)) {
    text += "RANGES\n";
    for (size_t r = 0; r < milp.rows.size(); ++r) {
      const Row& row = milp.rows[r];
      if (is_range(row)) fmt::format_to(out, "    RNG  R{}  {}\n", r, row.high - row.low);
    }
  }
  text += "BOUNDS\n";
  for (uint32_t v = 0; v < milp.variables.size(); ++v) append_bounds(text, v, milp.variables[v]);
  text += "ENDATA\n";
  return text;
}

}  // namespace tutti::plan::solver
