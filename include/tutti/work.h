// An operation under way. Its buffers are the operation's until it is over: do not touch them, and
// keep them. Handles are moved, never copied, and used by one thread at a time; the communicator
// must outlive them.
#pragma once

#include <chrono>
#include <utility>

#include "tutti/result.h"

namespace tutti {

namespace comm {
class Group;
}
namespace engine {
struct Operation;
}

class [[nodiscard]] Work {
 public:
  // Over already: nothing to do, or refused before anything moved.
  Work() = default;
  Work(Error error) : result_(std::move(error)) {}

  Work(Work&& other) noexcept { *this = std::move(other); }
  Work& operator=(Work&& other) noexcept;
  // Waits: the buffers may not go while peers read them.
  ~Work();

  // Runs the rank's operations, this and all others, until this one is over; the error says why it
  // did not complete. kDeadline when the operation's deadline passed first: the operation is then
  // given up, here and on its peers.
  Status wait();
  // Whether it is over. Runs operations as far as they go, and returns at once.
  [[nodiscard]] bool test();

  // For tutti's own parts.
  Work(comm::Group* group, engine::Operation* operation) : group_(group), operation_(operation) {}

 private:
  void finish();

  comm::Group* group_ = nullptr;
  engine::Operation* operation_ = nullptr;  // null once it is over
  Status result_;
};

}  // namespace tutti
