#include "verify/check.h"

#include <array>
#include <memory>
#include <utility>

#include "verify/prove.h"

namespace tutti::verify {

std::string_view to_string(Rule rule) noexcept {
  static constexpr std::array<std::string_view, kNumRules> kNames = {
      "shape", "matching",     "deadlock",     "hazard", "uninitialised", "stray_write",
      "fit",   "mixed_chunks", "double_count", "result", "barrier"};
  return kNames[static_cast<size_t>(rule)];
}

std::string_view to_string(Discipline discipline) noexcept {
  return discipline == Discipline::kLending ? "lending" : "slots";
}

Result<VerifiedSchedule> Verdict::result() const {
  if (proved()) return schedule();
  const bool is_grammar = refusal().rule == Rule::kShape || refusal().rule == Rule::kMatching;
  return Error{is_grammar ? ErrorCode::kMalformed : ErrorCode::kRefused, refusal().message};
}

Verdict check(ir::Schedule schedule) {
  auto outcome = prove(schedule, RuleSet::all());
  if (auto* refusal = std::get_if<Refusal>(&outcome)) return std::move(*refusal);
  auto proved = std::make_shared<const ir::Schedule>(std::move(schedule));
  return Verdict(VerifiedSchedule(std::move(proved)), std::get<Proof>(std::move(outcome)));
}

}  // namespace tutti::verify
