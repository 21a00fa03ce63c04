// One step of a schedule: what a lane does next, to which chunks, with which peers.
//
// A step names up to two regions of its own rank's buffers and up to two peers:
//
//   kind                    takes from   reads   writes  gives to
//   copy                    -            src     dst     -
//   reduce                  -            src,dst dst     -          dst = dst (+) src
//   send                    -            src     -       send_peer
//   recv                    recv_peer    -       dst     -
//   recv_reduce             recv_peer    src     dst     -          dst = src (+) message
//   recv_copy_send          recv_peer    -       dst     send_peer  dst = message; forward it
//   recv_reduce_send        recv_peer    src     -       send_peer  forward src (+) message
//   recv_reduce_copy_send   recv_peer    src     dst     send_peer  dst = src (+) message; forward
//
// docs/reference/schedule.md says when a step may run and when it is complete.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "base/ids.h"

namespace tutti::ir {

enum class StepKind : uint8_t {
  kCopy,
  kReduce,
  kSend,
  kRecv,
  kRecvReduce,
  kRecvCopySend,
  kRecvReduceSend,
  kRecvReduceCopySend,
};
inline constexpr int kNumStepKinds = 8;

[[nodiscard]] std::string_view to_string(StepKind kind) noexcept;
[[nodiscard]] std::optional<StepKind> parse_step_kind(std::string_view text) noexcept;

[[nodiscard]] constexpr bool sends(StepKind kind) noexcept {
  return kind == StepKind::kSend || kind >= StepKind::kRecvCopySend;
}
[[nodiscard]] constexpr bool receives(StepKind kind) noexcept { return kind >= StepKind::kRecv; }
[[nodiscard]] constexpr bool reads_src(StepKind kind) noexcept {
  return kind != StepKind::kRecv && kind != StepKind::kRecvCopySend;
}
[[nodiscard]] constexpr bool writes_dst(StepKind kind) noexcept {
  return kind != StepKind::kSend && kind != StepKind::kRecvReduceSend;
}
[[nodiscard]] constexpr bool reduces(StepKind kind) noexcept {
  return kind == StepKind::kReduce || kind == StepKind::kRecvReduce ||
         kind >= StepKind::kRecvReduceSend;
}

enum class Buffer : uint8_t { kInput, kOutput, kScratch };
inline constexpr int kNumBuffers = 3;

[[nodiscard]] std::string_view to_string(Buffer buffer) noexcept;
[[nodiscard]] std::optional<Buffer> parse_buffer(std::string_view text) noexcept;

// Consecutive chunk positions of one buffer: [index, index + count).
struct Region {
  Buffer buffer = Buffer::kInput;
  uint32_t index = 0;
  uint32_t count = 1;

  friend bool operator==(const Region&, const Region&) = default;
};

[[nodiscard]] constexpr Region input(uint32_t index, uint32_t count = 1) {
  return {Buffer::kInput, index, count};
}
[[nodiscard]] constexpr Region output(uint32_t index, uint32_t count = 1) {
  return {Buffer::kOutput, index, count};
}
[[nodiscard]] constexpr Region scratch(uint32_t index, uint32_t count = 1) {
  return {Buffer::kScratch, index, count};
}

// A step of the same rank, as a dependency names it.
struct StepRef {
  uint32_t lane = 0;
  uint32_t step = 0;

  friend auto operator<=>(const StepRef&, const StepRef&) = default;
};

// Schedules hold tens of millions of these, so the layout is tight; fields that the kind does not
// use are zero (regions) or kNoRank (peers), which makes equality of steps equality of bytes.
struct Step {
  StepKind kind = StepKind::kCopy;
  Buffer src_buffer = Buffer::kInput;
  Buffer dst_buffer = Buffer::kInput;
  uint8_t unused = 0;
  uint32_t src_index = 0;
  uint32_t dst_index = 0;
  uint32_t num_chunks = 1;  // 0: a message without data, as a barrier sends
  Rank recv_peer = kNoRank;
  Rank send_peer = kNoRank;
  uint32_t first_dep = 0;  // into RankProgram::deps; 0 when there are none
  uint32_t num_deps = 0;

  [[nodiscard]] Region src() const { return {src_buffer, src_index, num_chunks}; }
  [[nodiscard]] Region dst() const { return {dst_buffer, dst_index, num_chunks}; }

  friend bool operator==(const Step&, const Step&) = default;
};
static_assert(sizeof(Step) == 32 && std::is_trivially_copyable_v<Step>);

}  // namespace tutti::ir
