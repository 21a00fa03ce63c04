// Brute force: runs a small schedule on concrete numbers in every order in which its steps can run,
// and looks whether any order goes wrong. It knows nothing of contribution sets, events or forests;
// it only executes docs/reference/schedule.md, one step at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/schedule.h"

namespace tutti::mutants {

// How messages move. Lent data is read late (when it is taken) or early (when it is sent): a right
// schedule cannot tell the difference.
enum class Movement { kLendingLate, kLendingEarly, kSlots };

struct ExploreOptions {
  Movement movement = Movement::kLendingLate;
  bool in_place = false;
  uint32_t slots = 1;  // with kSlots
  uint64_t max_states = 200'000;
};

struct Exploration {
  // What goes wrong in some order: a deadlock, a wrong number, a changed input, a chunk that does
  // not fit, a barrier that lets someone through.
  std::optional<std::string> fault;
  uint64_t num_states = 0;
  bool complete = true;  // false: max_states was reached before a fault was found
};

// The schedule has a good shape and its messages match.
[[nodiscard]] Exploration explore(const ir::Schedule& schedule, const ExploreOptions& options);

}  // namespace tutti::mutants
