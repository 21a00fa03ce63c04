#include "trace/event.h"

namespace tutti::trace {

std::string_view to_string(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::kStep: return "step";
    case EventKind::kWait: return "wait";
    case EventKind::kMessage: return "message";
  }
  return "unknown";
}

std::string_view to_string(Op op) noexcept {
  switch (op) {
    case Op::kCopy: return "copy";
    case Op::kReduce: return "reduce";
    case Op::kSend: return "send";
    case Op::kRecv: return "recv";
    case Op::kRecvReduce: return "recv_reduce";
    case Op::kRecvCopySend: return "recv_copy_send";
    case Op::kRecvReduceSend: return "recv_reduce_send";
    case Op::kRecvReduceCopySend: return "recv_reduce_copy_send";
  }
  return "unknown";
}

std::optional<EventKind> parse_event_kind(std::string_view text) noexcept {
  for (int i = 0; i < kNumEventKinds; ++i) {
    const auto kind = static_cast<EventKind>(i);
    if (to_string(kind) == text) return kind;
  }
  return std::nullopt;
}

std::optional<Op> parse_op(std::string_view text) noexcept {
  for (int i = 0; i < kNumOps; ++i) {
    const auto op = static_cast<Op>(i);
    if (to_string(op) == text) return op;
  }
  return std::nullopt;
}

}  // namespace tutti::trace
