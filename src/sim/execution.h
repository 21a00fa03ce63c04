// Walks the lanes through their steps in simulated time: what both disciplines have in common.
//
// A lane stands at a step until its dependencies are complete, spends the step overhead, and then
// acts. Lending and Slots (their own files) say what acting means for steps with messages.
// Nothing recurses from step to step: lanes that can go on, and steps whose partner changed, are
// put on lists.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "sim/event_queue.h"
#include "sim/flows.h"
#include "sim/machine.h"
#include "sim/payload.h"
#include "sim/program.h"
#include "sim/recorder.h"
#include "sim/step_log.h"
#include "sim/waits.h"
#include "tutti/result.h"

namespace tutti::sim {

class Execution {
 public:
  struct Parts {
    const Program& program;
    const Machine& machine;
    Payload& payload;
    Recorder recorder;
  };

  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  virtual ~Execution() = default;

  // Runs to the end. kRefused, naming who waits for whom, when the schedule cannot finish.
  Status run();

  [[nodiscard]] const StepLog& log() const { return log_; }
  [[nodiscard]] const Flows& flows() const { return flows_; }
  [[nodiscard]] const Waits& waits() const { return waits_; }
  // When each lane had run its last step.
  [[nodiscard]] double lane_finish_ns(uint32_t lane) const { return lanes_[lane].finish_ns; }
  [[nodiscard]] uint64_t num_messages() const { return num_messages_; }
  [[nodiscard]] double message_bytes() const { return message_bytes_; }

 protected:
  enum class Phase : uint8_t {
    kIdle,      // its rank has not started
    kBlocked,   // a dependency is not complete
    kOverhead,  // of the step it stands at
    kStanding,  // ready, but the step's partner is not
    kLatency,   // lending: the first byte is on its way
    kTransfer,  // lending: bytes are on the links
    kChained,   // lending: part of another lane's transfer
    kBusy,      // copying or reducing
    kDone,
  };

  struct LaneState {
    StepNumber at = 0;  // the step it stands at
    Phase phase = Phase::kIdle;
    StepNumber cause = kNoStep;      // what let it come here
    uint32_t next_waiter = kNoLane;  // in the list of lanes blocked on the same step
    StepNumber blocked_on = kNoStep;
    double since_ns = 0;           // blocked or standing since
    double bytes = 0;              // that the running step moves
    const Route* route = nullptr;  // of the message that is being taken, under lending
    double finish_ns = 0;
  };

  // Whom a lane that cannot go on is waiting for, and in which words.
  struct Obstacle {
    StepNumber step;
    const char* reason;
  };

  // Actors are the lanes and, behind them, what the discipline adds.
  Execution(const Parts& parts, uint32_t num_other_actors);

  // The lane stands at a step with a message, all its dependencies complete.
  virtual void act_on_message(uint32_t lane) = 0;
  // A lane's time came in kLatency or kTransfer, or that of another actor.
  virtual void message_event(uint32_t actor) = 0;
  // What notify() promised.
  virtual void partner_changed(StepNumber step, StepNumber trigger) = 0;
  // The step at which the lane stands has run: give its message on, let go of what it took.
  virtual void step_has_run(uint32_t lane) = 0;
  // For a lane that is kStanding for ever.
  [[nodiscard]] virtual Obstacle obstacle_of_standing(uint32_t lane) const = 0;
  // For a lane that is kBlocked on a send that has run.
  [[nodiscard]] virtual Obstacle obstacle_of_completion(StepNumber send) const = 0;

  [[nodiscard]] uint32_t num_lanes() const { return static_cast<uint32_t>(lanes_.size()); }
  [[nodiscard]] bool is_standing_at(StepNumber step) const {
    const LaneState& lane = lanes_[program_.lane_of(step)];
    return lane.at == step && lane.phase == Phase::kStanding;
  }
  [[nodiscard]] bool has_passed(StepNumber step) const {
    return lanes_[program_.lane_of(step)].at > step;
  }

  // Soon, in this moment: look whether the step can begin, since `trigger` has changed.
  void notify(StepNumber step, StepNumber trigger) { notices_.push_back({step, trigger}); }
  // The lane begins its local work on the step, `bytes` of it; step_has_run and go_on follow.
  void work(uint32_t lane);
  // The lane's step is over; it goes on to the next. `cause` is what ended it.
  void go_on(uint32_t lane, StepNumber cause);
  void complete(StepNumber step, StepNumber cause);
  void begin(StepNumber step, StepNumber cause, bool by_partner);
  void count_message(StepNumber sender, double bytes, double handed_over_ns);

  const Program& program_;
  const Machine& machine_;
  Payload& payload_;
  Recorder recorder_;
  EventQueue queue_;
  Flows flows_;
  StepLog log_;
  Waits waits_;
  std::vector<LaneState> lanes_;
  double now_ = 0;

 private:
  struct Notice {
    StepNumber step;
    StepNumber trigger;
  };

  void lane_event(uint32_t lane);
  void follow_up();
  void arrive(uint32_t lane);
  [[nodiscard]] StepNumber find_incomplete(StepNumber step) const;
  void block(uint32_t lane, StepNumber on);
  void act(uint32_t lane);
  void finish_step(uint32_t lane);
  [[nodiscard]] Obstacle obstacle_of(uint32_t lane) const;
  [[nodiscard]] Error deadlock() const;

  std::vector<uint32_t> movable_;  // lanes that came to a new step or were unblocked
  std::vector<Notice> notices_;
  uint32_t num_done_ = 0;
  uint64_t num_messages_ = 0;
  double message_bytes_ = 0;
};

}  // namespace tutti::sim
