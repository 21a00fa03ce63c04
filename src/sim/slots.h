// Slots: a send puts its message into a slot of the connection and is complete. It needs room: of
// S slots, the message S places earlier must have been taken. Messages of a connection travel one
// after the other; a step that receives runs when its message has arrived (and, if it also sends,
// when there is room for that).
#pragma once

#include <vector>

#include "sim/connections.h"
#include "sim/execution.h"

namespace tutti::sim {

class Slots final : public Execution {
 public:
  Slots(const Parts& parts, const Connections& connections);

 private:
  struct Connection {
    uint32_t num_sent = 0;
    uint32_t num_arrived = 0;
    uint32_t num_taken = 0;
    bool has_latency = false;  // the first byte of the message under way has not arrived
    double bytes = 0;          // of the message under way
  };

  void act_on_message(uint32_t lane) override;
  void message_event(uint32_t actor) override;
  // Runs the step if it can; `trigger` is kNoStep when the lane has just come to it.
  void partner_changed(StepNumber step, StepNumber trigger) override;
  void step_has_run(uint32_t lane) override;
  [[nodiscard]] Obstacle obstacle_of_standing(uint32_t lane) const override;
  [[nodiscard]] Obstacle obstacle_of_completion(StepNumber send) const override;

  [[nodiscard]] bool has_room(StepNumber sender) const;
  [[nodiscard]] bool has_arrived(StepNumber taker) const;
  // The step whose taking makes room for this send.
  [[nodiscard]] StepNumber room_maker(StepNumber sender) const;

  void account_wait(uint32_t lane, StepNumber trigger);
  void give(StepNumber sender);
  void take(StepNumber taker);
  void move_next(uint32_t connection);
  void begin_transfer(uint32_t connection);
  void arrived(uint32_t connection);
  [[nodiscard]] StepNumber moving(uint32_t connection) const {
    return connections_.sender(connection, state_[connection].num_arrived);
  }

  const Connections& connections_;
  uint32_t num_slots_;
  std::vector<Connection> state_;
};

}  // namespace tutti::sim
