// An operation under way, or several. Its buffers are the operation's until it is over: do not
// touch them, and keep them. Handles are moved, never copied, and used by one thread at a time; the
// communicator must outlive them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "tutti/result.h"

namespace tutti {

namespace comm {
class Group;
struct SelfMessage;
}  // namespace comm
namespace engine {
struct Operation;
}

class [[nodiscard]] Work {
 public:
  // Over already: nothing to do, or refused before anything moved.
  Work();
  Work(Error error);

  Work(Work&& other) noexcept;
  Work& operator=(Work&& other) noexcept;
  // Waits: the buffers may not go while peers read them.
  ~Work();

  // From now on this stands for both. Calls that belong together are added up and waited for once:
  //   Work all;
  //   all += comm.send(left, 1);
  //   all += comm.recv(right, 1);
  //   all.wait().value();
  // Nothing has to be grouped for the calls to complete: they never wait for each other.
  Work& operator+=(Work other);

  // Runs the rank's operations, this and all others, until this one is over; the error says why it
  // did not complete, and of several is the first in the order they were added. kDeadline when the
  // operation's deadline passed first: the operation is then given up, here and on its peers.
  Status wait();
  // The same for at most so long. Whether it is over; if not, nothing is given up.
  [[nodiscard]] bool wait_for(std::chrono::nanoseconds limit);
  // Whether it is over: wait() then returns at once. Runs operations as far as they go, ends this
  // one if its deadline has passed, and does not wait.
  [[nodiscard]] bool test();

  // Why it did not complete; null if it did. Of a call that was refused at once, of all others when
  // wait() has returned.
  [[nodiscard]] const Error* error() const { return result_.ok() ? nullptr : &result_.error(); }

  // For tutti's own parts.
  Work(comm::Group* group, engine::Operation* operation);
  Work(comm::Group* group, std::shared_ptr<comm::SelfMessage> message);

 private:
  // What few calls have; most are one operation and nothing else.
  struct More;

  // Of the one operation or message that this holds itself, its parts aside.
  [[nodiscard]] comm::SelfMessage* message() const;
  [[nodiscard]] bool has_own() const { return operation_ != nullptr || message() != nullptr; }
  [[nodiscard]] bool own_is_over() const;
  [[nodiscard]] bool own_is_over_by(uint64_t until_ns);
  [[nodiscard]] uint64_t own_deadline_ns() const;
  void give_up_own();
  void take_own_result();
  void wait_for_parts();

  comm::Group* group_ = nullptr;
  engine::Operation* operation_ = nullptr;  // null once it is over
  Status result_;
  std::unique_ptr<More> more_;  // null: nothing
};

}  // namespace tutti
