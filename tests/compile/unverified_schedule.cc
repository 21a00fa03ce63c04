// Only verify::check makes a VerifiedSchedule: a claim cannot call itself proved.
// Refused: is private within this context|calling a private constructor
#include <memory>

#include "ir/schedule.h"
#include "verify/verified_schedule.h"

int main() {
  auto claim = std::make_shared<const tutti::ir::Schedule>();
#ifdef TUTTI_MUST_NOT_COMPILE
  tutti::verify::VerifiedSchedule proved(claim);
#endif
  return claim->ranks.empty() ? 0 : 1;
}
