// One thing that happened, as the simulator and the engines write it down: 56 trivially copyable
// bytes, so that a record can be made in a kernel, kept in a ring and read by another process.
//
// Times are ticks of the writing rank's clock; Trace says how long a tick is.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace tutti::trace {

enum class EventKind : uint8_t {
  kStep,     // a lane was busy with a step
  kWait,     // a lane stood at a step and `peer` was not ready for it
  kMessage,  // from when `rank` handed it over until its data was there at `peer`
};
inline constexpr int kNumEventKinds = 3;

// What a step does: ir::StepKind by another name, since traces are read without schedules.
enum class Op : uint8_t {
  kCopy,
  kReduce,
  kSend,
  kRecv,
  kRecvReduce,
  kRecvCopySend,
  kRecvReduceSend,
  kRecvReduceCopySend,
};
inline constexpr int kNumOps = 8;

// Whether a step of this kind takes a message, and whether it gives one.
[[nodiscard]] constexpr bool takes(Op op) { return op >= Op::kRecv; }
[[nodiscard]] constexpr bool gives(Op op) { return op == Op::kSend || op >= Op::kRecvCopySend; }

// "step", "recv_reduce": the spelling of trace files.
[[nodiscard]] std::string_view to_string(EventKind kind) noexcept;
[[nodiscard]] std::string_view to_string(Op op) noexcept;
[[nodiscard]] std::optional<EventKind> parse_event_kind(std::string_view text) noexcept;
[[nodiscard]] std::optional<Op> parse_op(std::string_view text) noexcept;

inline constexpr uint32_t kNoPeer = UINT32_MAX;
// The end of what had begun and was not over when the trace was taken.
inline constexpr int64_t kStillOpen = INT64_MAX;

struct Event {
  int64_t begin = 0;
  int64_t end = 0;
  uint64_t bytes = 0;
  uint32_t rank = 0;  // where it happened; of a message: the sender
  uint32_t lane = 0;
  uint32_t step = 0;
  // Whom it takes from or waits for, of a step that only gives whom it gives to; of a message: the
  // receiver. Then the step at the peer's end of that message; 0 when there is no peer.
  uint32_t peer = kNoPeer;
  uint32_t peer_lane = 0;
  uint32_t peer_step = 0;
  uint32_t call = 0;  // which call of its rank this is part of; the simulator has one, 0
  EventKind kind = EventKind::kStep;
  Op op = Op::kCopy;
  uint16_t unused = 0;

  friend bool operator==(const Event&, const Event&) = default;
};
static_assert(sizeof(Event) == 56 && std::is_trivially_copyable_v<Event>);

}  // namespace tutti::trace
