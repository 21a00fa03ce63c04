// A schedule as MSCCL++ thread blocks, before it is written as JSON.
//
// MSCCL++ is one-sided: a sender puts into the receiver's memory and signals, the receiver waits
// for the signal. A lane becomes one thread block, which goes on in further ones where a limit is
// reached; dependencies between lanes become semaphores.
//
// Where a message lands. A put does not ask, so it must never hit memory that the receiver still
// needs. A recv whose target nothing else touches before it lands there directly. Every other
// message has a place of its own in extra scratch behind the schedule's, from which the receiver
// copies or reduces. So a put never waits for a receiver (but once, at the start, for its kernel to
// run), and a schedule that cannot deadlock with slots cannot here: every message has one.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/schedule.h"
#include "tutti/result.h"

namespace tutti::ir::msccl {

// The sizes of MSCCL++'s device tables.
inline constexpr size_t kPlanMaxOps = 64;            // of a thread block
inline constexpr size_t kPlanMaxChannels = 16;       // of a thread block
inline constexpr size_t kPlanMaxRemoteBuffers = 16;  // of a thread block
inline constexpr size_t kPlanMaxChannelsPerOp = 8;
inline constexpr size_t kPlanMaxSemaphoresPerOp = 16;

// A region of a buffer, this rank's or (remote_buffer, an index into PlanBlock::remote_buffers)
// another's.
struct PlanRegion {
  Region region;
  int32_t remote_buffer = -1;
};

struct PlanOp {
  std::string_view name;
  std::vector<uint32_t> channels;  // indices into PlanBlock::channels
  std::vector<PlanRegion> src;
  std::vector<PlanRegion> dst;
  std::vector<uint32_t> semaphores;
};

struct PlanBlock {
  std::vector<uint32_t> channels;        // indices into PlanRank::channel_peers
  std::vector<uint32_t> remote_buffers;  // indices into PlanRank::remote_buffers
  std::vector<PlanOp> ops;
};

struct RemoteBuffer {
  uint32_t rank = 0;
  Buffer buffer = Buffer::kScratch;

  friend auto operator<=>(const RemoteBuffer&, const RemoteBuffer&) = default;
};

struct PlanRank {
  uint32_t num_scratch = 0;
  uint32_t num_semaphores = 0;
  // The peer of each channel. The n-th channel of a with b is one pair with the n-th of b with a.
  std::vector<uint32_t> channel_peers;
  std::vector<RemoteBuffer> remote_buffers;
  std::vector<PlanBlock> blocks;
};

// The schedule must be of good shape. kMalformed when messages do not match (ir/matching.h).
[[nodiscard]] Result<std::vector<PlanRank>> make_plan(const Schedule& schedule);

}  // namespace tutti::ir::msccl
