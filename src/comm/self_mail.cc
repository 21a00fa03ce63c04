#include "comm/self_mail.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace tutti::comm {
namespace {

Status deliver(const SelfEnd& from, const SelfEnd& to) {
  if (from.elems != to.elems || from.type != to.type) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("send to this rank itself: {} {} were sent and {} {} are to be "
                             "received; both ends must be called with the same count and type",
                             from.elems, to_string(from.type), to.elems, to_string(to.type))};
  }
  if (from.elems != 0) std::memmove(to.output, from.input, from.elems * size_of(from.type));
  return {};
}

}  // namespace

void SelfMail::settle(SelfMessage& message, Status result) {
  message.result = std::move(result);
  message.is_over.store(true, std::memory_order_release);
}

std::shared_ptr<SelfMessage> SelfMail::post(const SelfEnd& end) {
  auto message = std::make_shared<SelfMessage>(end);
  const std::lock_guard lock(mutex_);
  if (!aborted_) {
    settle(*message, aborted_);
    return message;
  }
  const auto found = waiting_.find(end.id);
  if (found == waiting_.end()) {
    waiting_.emplace(end.id, message);
    return message;
  }
  const std::shared_ptr<SelfMessage> other = std::move(found->second);
  waiting_.erase(found);
  const Status result = end.receives ? deliver(other->end, end) : deliver(end, other->end);
  settle(*other, result);
  settle(*message, result);
  return message;
}

void SelfMail::give_up(SelfMessage& message, Error error) {
  const std::lock_guard lock(mutex_);
  if (waiting_.erase(message.end.id) != 0) settle(message, std::move(error));
}

void SelfMail::abort(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (!aborted_) return;
  aborted_ = error;
  for (const auto& [id, message] : waiting_) settle(*message, error);
  waiting_.clear();
}

}  // namespace tutti::comm
