#include "plan/synth/solver/solver.h"

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

Result<std::unique_ptr<Solver>> find_solver() {
  if (std::string cbc = find_on_path("cbc"); !cbc.empty()) return make_cbc(std::move(cbc));
  return Error{ErrorCode::kNotFound,
               "sketches are solved by COIN-OR's cbc, which is not on PATH: install it "
               "(Debian, Ubuntu: apt-get install coinor-cbc; conda: coin-or-cbc), or ask for "
               "--algo packed, which needs no solver"};
}

}  // namespace tutti::plan::solver
