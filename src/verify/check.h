// Proves a schedule or says why it is wrong: docs/reference/schedule.md, "What is proved".
//
//   verify::Verdict verdict = verify::check(std::move(schedule));
//   if (!verdict.proved()) return fail(verdict.refusal().message);
//   engine.run(verdict.schedule());
//
// The proof is for every rank, both disciplines and every placement that the schedule claims, and
// for every message size: it follows contributions, not numbers. It shares nothing with plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "ir/schedule.h"
#include "tutti/result.h"
#include "verify/verified_schedule.h"

namespace tutti::verify {

enum class Rule : uint8_t {
  kShape,          // the grammar of ir/shape.h, and a placement that the collective has
  kMatching,       // every message has one send and one taker, of equal length
  kDeadlock,       // no step waits for itself
  kHazard,         // conflicting accesses to a position are ordered
  kUninitialised,  // nothing is read before it is written
  kStrayWrite,     // the input is not written, but in place where it is also output
  kFit,            // a position holds only a chunk that it was sized for
  kMixedChunks,    // both operands of a reduction are the same chunk
  kDoubleCount,    // no contribution is reduced twice
  kResult,         // every output ends with its chunk, of exactly the right contributions
  kBarrier,        // no rank leaves a barrier that another has not entered
};
inline constexpr int kNumRules = 11;

// "deadlock", "double_count", ...
[[nodiscard]] std::string_view to_string(Rule rule) noexcept;

// The two ways in which a transport may move messages; a schedule must be right under both.
enum class Discipline : uint8_t { kLending, kSlots };

[[nodiscard]] std::string_view to_string(Discipline discipline) noexcept;

struct Refusal {
  Rule rule = Rule::kShape;
  // The place of the fault, where it has one: some faults are of a rank (a missing result), some
  // of the whole schedule. A fault of matching names its place in the message alone.
  Rank rank = kNoRank;
  ir::StepRef step;  // meaningful if has_step
  bool has_step = false;
  // The case that failed, where the rule is asked case by case.
  std::optional<Discipline> discipline;
  std::optional<ir::Placement> placement;
  // All of the above in words, with the cycle or the contributions, and what to try.
  std::string message;
};

// What was proved, in numbers.
struct Proof {
  uint64_t num_steps = 0;
  uint64_t num_messages = 0;
  std::vector<ir::Placement> placements;  // kOutOfPlace, kInPlace or both; a barrier has none
  uint32_t slots = 0;                     // 0: proved for lending alone
  uint64_t longest_chain = 0;             // steps of the longest chain of waits, under lending
};

class Verdict {
 public:
  Verdict(VerifiedSchedule schedule, Proof proof)
      : state_(Proved{std::move(schedule), std::move(proof)}) {}
  Verdict(Refusal refusal) : state_(std::move(refusal)) {}

  [[nodiscard]] bool proved() const { return state_.index() == 0; }
  // Only if proved.
  [[nodiscard]] const VerifiedSchedule& schedule() const { return std::get<0>(state_).schedule; }
  [[nodiscard]] const Proof& proof() const { return std::get<0>(state_).proof; }
  // Only if not proved.
  [[nodiscard]] const Refusal& refusal() const { return std::get<1>(state_); }

  // For callers that only pass failure up: kMalformed for shape and matching, else kRefused.
  [[nodiscard]] Result<VerifiedSchedule> result() const;

 private:
  struct Proved {
    VerifiedSchedule schedule;
    Proof proof;
  };
  std::variant<Proved, Refusal> state_;
};

// Takes time near-linear in steps and chunks moved for schedules of planners; a schedule that is
// refused may take longer, to find its shortest cycle. Needs about 55 bytes a step and 24 a chunk
// position. Deterministic: the same schedule gets the same refusal.
[[nodiscard]] Verdict check(ir::Schedule schedule);

}  // namespace tutti::verify
