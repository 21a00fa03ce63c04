// How a job that must end is ended, as pure arithmetic of times: first a grace in which ranks may
// see for themselves that a peer is gone and say so, then SIGTERM, after another grace SIGKILL.
//
// Sends nothing itself: due() says what to send, each signal once.
#pragma once

#include <chrono>
#include <optional>

namespace tutti::tools::launch {

using Time = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

enum class EndingAction { kNothing, kTerminate, kKill };

class Ending {
 public:
  explicit Ending(Duration grace) : grace_(grace) {}

  // Each moves forward only: what is under way is not slowed down by a later, milder call.
  void begin(Time now);      // SIGTERM after the grace
  void terminate(Time now);  // SIGTERM now
  void kill(Time now);       // SIGKILL now

  [[nodiscard]] EndingAction due(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;
  [[nodiscard]] bool begun() const { return stage_ != Stage::kNone; }
  // Whether ranks that end now end because they were told to.
  [[nodiscard]] bool terminated() const { return stage_ >= Stage::kTerminated; }
  [[nodiscard]] bool killed() const { return stage_ == Stage::kKilled; }

 private:
  enum class Stage { kNone, kGrace, kTerminated, kKilled };

  Duration grace_;
  Stage stage_ = Stage::kNone;
  Time next_;  // when the next signal is due, in kGrace and kTerminated
};

}  // namespace tutti::tools::launch
