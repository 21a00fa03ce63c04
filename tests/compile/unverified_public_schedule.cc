// The public API keeps the same promise: Schedule::verify() is the only way to a VerifiedSchedule.
// Refused: is private within this context|calling a private constructor
#include <utility>

#include "tutti/schedule.h"

namespace {

bool has_steps(const tutti::Schedule& schedule) { return schedule.num_steps() > 0; }

}  // namespace

bool (*tested)(const tutti::Schedule&) = has_steps;

#ifdef TUTTI_MUST_NOT_COMPILE
tutti::VerifiedSchedule prove_by_claim(tutti::Schedule claim) {
  return tutti::VerifiedSchedule(std::move(claim), nullptr);
}
#endif
