#include "plan/synth/solver/highs_log.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>

namespace tutti::plan::solver {
namespace {

// Takes the next line off the text; without its end.
std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::optional<double> number_at(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  return end == copy.c_str() ? std::nullopt : std::optional(number);
}

// The next word's number, if it is finite; takes the word off.
std::optional<double> take_number(std::string_view& text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin);
  const auto number = number_at(text);
  text.remove_prefix(std::min(text.find(' '), text.size()));
  return number && std::isfinite(*number) ? number : std::nullopt;
}

bool renew(std::optional<double> found, std::optional<double>& known) {
  if (!found || found == known) return false;
  known = found;
  return true;
}

Error unclear(std::string_view line) {
  return {ErrorCode::kMalformed, fmt::format("HiGHS' answer is not understood: \"{}\"", line)};
}

// "# Columns 3", then a line "C7 1" for each. False where that is not all there.
bool read_columns(std::string_view& text, size_t num_variables, std::vector<double>& values) {
  if (take_line(text) != fmt::format("# Columns {}", num_variables)) return false;
  values.assign(num_variables, 0);
  for (size_t i = 0; i < num_variables; ++i) {
    const bool is_whole = text.find('\n') != std::string_view::npos;
    std::string_view line = take_line(text);
    const std::string name = fmt::format("C{} ", i);
    if (!is_whole || !line.starts_with(name)) return false;
    const auto value = number_at(line.substr(name.size()));
    if (!value) return false;
    values[i] = *value;
  }
  return true;
}

}  // namespace

// A row of its table: "R  0  0  0  0.00%   -10.875   -10.5   3.57%  0 ...", or
// "  Nodes | B&B Tree | BestBound BestSol Gap | ..." without the bars; and the report at the end.
bool read_highs_line(std::string_view line, Progress& progress) {
  for (const auto& [words, known] :
       {std::pair{std::string_view("Primal bound"), &progress.incumbent},
        {std::string_view("Dual bound"), &progress.bound}}) {
    const size_t at = line.find(words);
    if (at == std::string_view::npos) continue;
    std::string_view rest = line.substr(at + words.size());
    return renew(take_number(rest), *known);
  }
  const size_t explored = line.find('%');
  if (explored == std::string_view::npos || !line.ends_with('s')) return false;
  std::string_view rest = line.substr(explored + 1);
  const auto bound = take_number(rest);
  const auto incumbent = take_number(rest);
  const bool is_new_bound = renew(bound, progress.bound);
  return renew(incumbent, progress.incumbent) || is_new_bound;
}

Result<Solution> read_highs_solution(std::string_view text, size_t num_variables) {
  std::string_view rest = text;
  if (take_line(rest) != "Model status") return unclear(text.substr(0, text.find('\n')));
  const std::string_view status = take_line(rest);
  Solution solution;
  if (status == "Infeasible" || status == "Primal infeasible or unbounded") {
    solution.outcome = Outcome::kInfeasible;
    return solution;
  }
  if (status == "Unbounded") {
    solution.outcome = Outcome::kUnbounded;
    return solution;
  }
  const size_t values = rest.find("# Primal solution values\n");
  if (values == std::string_view::npos) return unclear(status);
  rest.remove_prefix(values);
  take_line(rest);
  if (take_line(rest) != "Feasible") return solution;
  const std::string_view objective = take_line(rest);
  constexpr std::string_view kObjective = "Objective ";
  const auto cost = objective.starts_with(kObjective)
                        ? number_at(objective.substr(kObjective.size()))
                        : std::nullopt;
  if (!cost || !read_columns(rest, num_variables, solution.values)) return unclear(objective);
  solution.cost = *cost;
  solution.outcome = status == "Optimal" ? Outcome::kOptimal : Outcome::kIncumbent;
  return solution;
}

Solution last_highs_improvement(std::string_view text, size_t num_variables) {
  Solution best;
  constexpr std::string_view kObjective = "Objective ";
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (!line.starts_with(kObjective)) continue;
    Solution next{.outcome = Outcome::kIncumbent};
    next.cost = number_at(line.substr(kObjective.size())).value_or(0);
    if (!read_columns(text, num_variables, next.values)) break;
    best = std::move(next);
  }
  return best;
}

}  // namespace tutti::plan::solver
