#include "plan/synth/solver/cbc_log.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>

namespace tutti::plan::solver {
namespace {

// The number behind `words`, when the line has them and one follows.
std::optional<double> number_behind(std::string_view line, std::string_view words) {
  const size_t at = line.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string rest(line.substr(at + words.size()));
  char* end = nullptr;
  const double number = std::strtod(rest.c_str(), &end);
  if (end == rest.c_str() || std::abs(number) > 1e40) return std::nullopt;  // 1e50: none yet
  return number;
}

// The number before `words`.
std::optional<double> number_before(std::string_view line, std::string_view words) {
  const size_t at = line.find(words);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const size_t blank = line.substr(0, at).find_last_of(' ');
  return number_behind(line.substr(0, at), line.substr(0, blank == line.npos ? 0 : blank + 1));
}

bool note(std::optional<double> found, std::optional<double>& into) {
  if (!found || into == found) return false;
  into = found;
  return true;
}

Error not_understood(std::string_view line) {
  return {ErrorCode::kMalformed, fmt::format("cbc's answer is not understood: \"{}\"", line)};
}

Result<Outcome> outcome_of(std::string_view first_line) {
  const auto says = [&](std::string_view words) {
    return first_line.find(words) != std::string_view::npos;
  };
  if (says("nfeasible")) return Outcome::kInfeasible;
  if (says("nbounded")) return Outcome::kUnbounded;
  if (says("no integer solution")) return Outcome::kNothingFound;
  if (first_line.starts_with("Optimal")) return Outcome::kOptimal;
  if (first_line.starts_with("Stopped")) return Outcome::kIncumbent;
  return not_understood(first_line);
}

// "      3 C7        1        0", with "**" before it where a bound is kept only nearly.
Status read_value(std::string_view line, std::vector<double>& values) {
  const size_t name = line.find(" C");
  if (name == std::string_view::npos) return not_understood(line);
  const std::string rest(line.substr(name + 2));
  char* end = nullptr;
  const unsigned long long index = std::strtoull(rest.c_str(), &end, 10);
  if (end == rest.c_str() || index >= values.size()) return not_understood(line);
  const char* const number = end;
  values[index] = std::strtod(number, &end);
  return end == number ? Status(not_understood(line)) : Status();
}

}  // namespace

bool read_cbc_line(std::string_view line, Progress& progress) {
  bool is_news = note(number_behind(line, "Integer solution of "), progress.incumbent);
  is_news |= note(number_before(line, " best solution, best possible"), progress.incumbent);
  is_news |= note(number_behind(line, "best objective "), progress.incumbent);
  is_news |= note(number_behind(line, "best possible "), progress.bound);
  is_news |= note(number_behind(line, "Continuous objective value is "), progress.bound);
  is_news |= note(number_behind(line, "Lower bound: "), progress.bound);
  return is_news;
}

Result<Solution> read_cbc_solution(std::string_view text, size_t num_variables) {
  Solution solution;
  size_t end = text.find('\n');
  const std::string_view first_line = text.substr(0, end);
  const auto outcome = outcome_of(first_line);
  if (!outcome) return outcome.error();
  solution.outcome = *outcome;
  if (!solution.has_values()) return solution;
  const auto cost = number_behind(first_line, "objective value");
  if (!cost) return not_understood(first_line);
  solution.cost = *cost;
  solution.values.assign(num_variables, 0);
  while (end != std::string_view::npos && end + 1 < text.size()) {
    const size_t begin = end + 1;
    end = text.find('\n', begin);
    const auto status = read_value(text.substr(begin, end - begin), solution.values);
    if (!status) return status.error();
  }
  return solution;
}

}  // namespace tutti::plan::solver
