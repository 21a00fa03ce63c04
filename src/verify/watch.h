// Follows a schedule round by round for a witness. Shared by history.h and overview.h; not for use
// outside verify.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/schedule.h"
#include "tutti/result.h"
#include "verify/contribution_set.h"
#include "verify/course.h"
#include "verify/event_graph.h"
#include "verify/facts.h"
#include "verify/replay.h"
#include "verify/rounds.h"

namespace tutti::verify {

// What check says of the schedule, and the case to follow: the one that failed, else out of place
// where the schedule allows it, unless `asked` says otherwise. kInvalidArgument for a placement
// that the schedule does not claim.
[[nodiscard]] Result<Course> choose_course(const ir::Schedule& schedule,
                                           const std::optional<ir::Placement>& asked);

// False for a schedule without shape or matching: it has no step that could be followed.
[[nodiscard]] bool can_be_followed(const Course& course);

class Watch {
 public:
  // The facts must outlive this.
  Watch(const Facts& facts, Discipline discipline);

  [[nodiscard]] uint32_t round_of(StepNumber step) const {
    return rounds_.round_of[graph_.event_of(step)];
  }
  // Tells the witness every step in the order of rounds; notes in the course how it ended.
  void run(Witness& witness, Course& course);

 private:
  [[nodiscard]] std::vector<StepName> stuck_steps() const;

  const Facts& facts_;
  EventGraph graph_;
  Rounds rounds_;
};

// A barrier has no data. What can be watched instead is whose entering each rank has heard of.
class Hearing {
 public:
  explicit Hearing(const Facts& facts);

  // Whom the rank of this step has heard of once it has run; none when it is nobody new.
  std::optional<ContributionSet> ran(StepNumber step);
  [[nodiscard]] const ContributionSets& sets() const { return sets_; }

 private:
  const Facts& facts_;
  ContributionSets sets_;
  std::vector<ContributionSet> by_rank_;
  std::vector<ContributionSet> at_step_;
};

}  // namespace tutti::verify
