// Messages of a rank to itself. Whichever end is called first waits here for the other; the second
// copies, and both are over. No engine takes part: there is no peer to wait for.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "tutti/data_type.h"
#include "tutti/result.h"

namespace tutti::comm {

// What one call says of a message.
struct SelfEnd {
  const void* input = nullptr;  // of the sending end
  void* output = nullptr;       // of the receiving end
  uint64_t elems = 0;
  DataType type = DataType::kUint8;
  bool receives = false;
  uint64_t id = 0;  // equal at both ends
  uint64_t deadline_ns = 0;
};

struct SelfMessage {
  explicit SelfMessage(const SelfEnd& called) : end(called) {}

  SelfEnd end;
  Status result;
  // Written once, after the result; pairs with the acquire of waiters.
  std::atomic<bool> is_over{false};
};

class SelfMail {
 public:
  // Takes one end of a message. Over when the other end was here, or does not fit.
  std::shared_ptr<SelfMessage> post(const SelfEnd& end);
  // Ends a message whose other end has not come.
  void give_up(SelfMessage& message, Error error);
  // Ends all of them, and all that are posted later.
  void abort(const Error& error);

 private:
  static void settle(SelfMessage& message, Status result);

  std::mutex mutex_;  // held for lookups and for the copy, never across a wait
  std::map<uint64_t, std::shared_ptr<SelfMessage>> waiting_;
  Status aborted_;
};

}  // namespace tutti::comm
