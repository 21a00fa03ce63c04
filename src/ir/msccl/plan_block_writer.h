// Writes the operations of one lane into thread blocks, keeping to the limits of each: where one is
// full the lane goes on in a new block that waits for a semaphore. Puts a nop (all threads of the
// block meet) where one operation must see all of another.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "ir/msccl/plan.h"

namespace tutti::ir::msccl {

// A channel of the rank, by its index in PlanRank::channel_peers.
using Channel = uint32_t;

class PlanBlockWriter {
 public:
  explicit PlanBlockWriter(PlanRank& rank) : rank_(rank) {}

  // What the next step needs. Opens a new block if it does not fit into this one.
  struct Needs {
    std::optional<Channel> recv;
    std::optional<Channel> send;
    std::optional<RemoteBuffer> target;
    size_t num_acquired = 0;  // semaphores
    size_t num_released = 0;

    // How many operations the step can become, nops included.
    [[nodiscard]] size_t max_ops() const;
  };
  void begin_step(const Needs& needs);
  // Must be called once, after the last step.
  void end_lane();

  void copy(Region src, Region dst);
  // dst = a (+) b, and the same into `target` of the step's remote buffer if one is given.
  void reduce(Region a, Region b, Region dst, std::optional<Region> target);
  void put(Region src, Region target);
  void signal();
  void wait();
  void acquire(const std::vector<uint32_t>& semaphores);
  void release(const std::vector<uint32_t>& semaphores);

 private:
  void close_block();
  [[nodiscard]] size_t num_greetings() const;
  [[nodiscard]] bool fits(const Needs& needs) const;
  uint32_t local_channel(Channel channel);
  uint32_t local_buffer(RemoteBuffer buffer);
  PlanRegion remote(Region region);
  void emit_data(PlanOp op);
  void emit_signal(PlanOp op);
  void emit_wait(PlanOp op);

  PlanRank& rank_;
  PlanBlock block_;
  Needs needs_;
  // Channels whose ends have said that their kernel runs (recv) or are waited for so (send).
  std::set<Channel> greeted_;
  std::vector<Channel> new_recvs_;
  std::vector<Channel> new_sends_;
  std::optional<uint32_t> opening_;  // the semaphore that this block waits for first
  bool unmet_ = false;               // operations since the last nop that others must see whole
};

}  // namespace tutti::ir::msccl
