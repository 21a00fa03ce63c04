// The proof itself, below the public check: it can leave rules out, so that tests can show which
// faults each rule finds that no other does. Not for use outside verify and its tests.
#pragma once

#include <cstdint>
#include <variant>

#include "ir/schedule.h"
#include "verify/check.h"

namespace tutti::verify {

class RuleSet {
 public:
  static RuleSet all() { return RuleSet{}; }
  // For watching a schedule that is known to be wrong: nothing stops the replay.
  static RuleSet none() {
    RuleSet set;
    set.left_out_ = ~0u;
    return set;
  }
  static RuleSet all_but(Rule rule) {
    RuleSet set;
    set.left_out_ = 1u << static_cast<int>(rule);
    return set;
  }
  [[nodiscard]] bool has(Rule rule) const {
    return (left_out_ >> static_cast<int>(rule) & 1u) == 0;
  }

 private:
  uint32_t left_out_ = 0;
};

// kShape and kMatching are asked in any case: without them no other question has a meaning. With
// kDeadlock left out, a discipline under which the schedule deadlocks is passed over.
[[nodiscard]] std::variant<Proof, Refusal> prove(const ir::Schedule& schedule, RuleSet rules);

}  // namespace tutti::verify
