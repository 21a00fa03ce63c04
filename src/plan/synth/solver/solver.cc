#include "plan/synth/solver/solver.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>

namespace tutti::plan::solver {
namespace {

// The first executable of that name on PATH; empty when there is none.
std::string find_on_path(std::string_view program) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    const std::string candidate = std::string(rest.substr(0, colon)) + "/" + std::string(program);
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = colon == std::string_view::npos ? "" : rest.substr(colon + 1);
  }
  return {};
}

}  // namespace

std::optional<double> Progress::gap() const {
  if (!incumbent || !bound) return std::nullopt;
  if (*incumbent == *bound) return 0;
  return std::abs(*incumbent - *bound) / std::max(std::abs(*incumbent), 1e-12);
}

Result<std::unique_ptr<Solver>> find_solver(std::string_view name) {
  struct Known {
    std::string_view program;
    std::unique_ptr<Solver> (*make)(std::string);
    std::string_view how;
  };
  constexpr Known kKnown[] = {
      {"cbc", make_cbc,
       "COIN-OR's cbc (Debian, Ubuntu: apt-get install coinor-cbc; conda: coin-or-cbc)"},
      {"highs", make_highs, "HiGHS' program highs (https://highs.dev)"}};
  bool is_known = name.empty();
  std::string missing;
  for (const Known& known : kKnown) {
    if (!name.empty() && name != known.program) continue;
    is_known = true;
    if (std::string path = find_on_path(known.program); !path.empty()) return known.make(path);
    missing += fmt::format("{}{}", missing.empty() ? "" : " or ", known.how);
  }
  if (!is_known) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("'{}' is no solver that tutti knows; there are cbc and highs", name)};
  }
  return Error{ErrorCode::kNotFound,
               fmt::format("sketches are solved by {}, which is not on PATH: install it, or ask "
                           "for --algo packed, which needs no solver",
                           missing)};
}

}  // namespace tutti::plan::solver
