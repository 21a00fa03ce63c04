// What was not proved is not run: simulate() takes a VerifiedSchedule and nothing that becomes one.
// Refused: invalid initialization of reference|no viable conversion
#include "tutti/tutti.h"

tutti::Result<tutti::Simulation> time_of(const tutti::Schedule& schedule,
                                         const tutti::Topology& topology) {
#ifdef TUTTI_MUST_NOT_COMPILE
  return tutti::simulate(schedule, topology, {.bytes = 1024});
#endif
  tutti::Result<tutti::VerifiedSchedule> proved = schedule.verify();
  if (!proved) return proved.error();
  return tutti::simulate(*proved, topology, {.bytes = 1024});
}
