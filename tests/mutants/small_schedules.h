// Small schedules that are right, written by hand: the ground from which mutants are made. Each
// shows a way to go wrong that the planner's schedules do not have.
#pragma once

#include <vector>

#include "ir/schedule.h"

namespace tutti::mutants {

// all_reduce on a ring of three; sums are kept in output on their way.
ir::Schedule ring_all_reduce();
// reduce down a chain of four with recv_reduce_send: one moment under lending.
ir::Schedule chain_reduce();
// broadcast of two chunks through one position of scratch, which is used again.
ir::Schedule staged_broadcast();
// all_reduce of two ranks by exchange, with scratch so that it also works in place.
ir::Schedule exchange_all_reduce();
// all_gather of two ranks in which every rank sends `num_chunks` messages ahead.
ir::Schedule sending_ahead(uint32_t num_chunks, uint32_t slots);
// reduce of two chunks to rank 0, one lane a chunk, joined by dependencies in a third.
ir::Schedule reduce_in_lanes();
// all_to_all of two ranks.
ir::Schedule swap_blocks();
// barrier of three ranks, in two rounds.
ir::Schedule barrier();
// reduce_scatter of two ranks, with the reduction as a step of its own.
ir::Schedule reduce_scatter_with_copy();

// All of them.
std::vector<ir::Schedule> small_schedules();

}  // namespace tutti::mutants
