// The connections of a program: which sends go over each, in order.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/program.h"

namespace tutti::sim {

class Connections {
 public:
  explicit Connections(const Program& program);

  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(first_.size() - 1); }
  // The connection of a step that sends.
  [[nodiscard]] uint32_t of(StepNumber sender) const { return of_[sender]; }
  // The step that sends message `sequence` of the connection.
  [[nodiscard]] StepNumber sender(uint32_t connection, uint32_t sequence) const {
    return senders_[first_[connection] + sequence];
  }

 private:
  std::vector<uint32_t> of_;     // by step
  std::vector<uint32_t> first_;  // of each connection in senders_, and the end
  std::vector<StepNumber> senders_;
};

}  // namespace tutti::sim
