// Cuts a schedule to what an MSCCL thread block can be. A lane may talk to many peers; a thread
// block has one peer to send to, one to receive from and one channel, and a connection belongs to
// one thread block.
//
// A lane becomes one thread block for each pair of (receive peer, send peer). Pairs are chosen so
// that fused steps stay whole where they can; a fused step whose two peers fell into different
// thread blocks becomes a receive and a send (a recv_reduce_send then keeps its sum in extra
// scratch behind the schedule's own). The order of the lane is kept by dependencies between its
// thread blocks. A thread block waits for one row at a time: further waits are nops in front.
#pragma once

#include "ir/msccl/algo.h"
#include "ir/schedule.h"
#include "tutti/result.h"

namespace tutti::ir::msccl {

// The schedule must be of good shape. kUnsupported for what MSCCL cannot say and for its limits.
[[nodiscard]] Result<Algo> legalise(const Schedule& schedule);

}  // namespace tutti::ir::msccl
