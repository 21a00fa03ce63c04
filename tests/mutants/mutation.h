// Random damage to a schedule: small changes of the kinds that programmers make.
#pragma once

#include <random>
#include <string>

#include "ir/schedule.h"

namespace tutti::mutants {

struct Mutant {
  std::string change;  // "drop a message", "rank 1: swap two steps", ...
  ir::Schedule schedule;
};

// One change, or the same schedule if the change that was drawn has nothing to act on. The mutant
// may have any fault, a bad shape included.
[[nodiscard]] Mutant mutate(const ir::Schedule& schedule, std::mt19937_64& random);

}  // namespace tutti::mutants
