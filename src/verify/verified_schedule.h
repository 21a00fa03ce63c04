// A schedule that was proved. The engine takes nothing else, and only verify::check makes one, so
// what the engine may assume is in the type. Immutable; copies share one schedule, because engines,
// plan caches and running operations hold the same one and a large one takes a gigabyte.
// The only header of verify that the engine may include.
#pragma once

#include <memory>
#include <utility>

#include "ir/schedule.h"

namespace tutti::verify {

class Verdict;
[[nodiscard]] Verdict check(ir::Schedule schedule);

class VerifiedSchedule {
 public:
  // Valid as long as any copy of this lives.
  [[nodiscard]] const ir::Schedule& schedule() const { return *schedule_; }

 private:
  friend Verdict check(ir::Schedule schedule);
  explicit VerifiedSchedule(std::shared_ptr<const ir::Schedule> schedule)
      : schedule_(std::move(schedule)) {}

  std::shared_ptr<const ir::Schedule> schedule_;
};

}  // namespace tutti::verify
