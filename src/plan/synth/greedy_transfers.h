// Greedy synthesis in time (after TACOS): whenever links are free, a chunk is sent over them that
// the receiver needs. Transfers come out in the order in which they begin, so whoever writes lanes
// in this order, or all of them in the reverse order, cannot write a deadlock.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plan/synth/greedy_network.h"
#include "tutti/result.h"

namespace tutti::plan::synth {

struct Transfer {
  uint32_t hop = 0;
  uint32_t chunk = 0;
  uint32_t num_chunks = 1;  // more: some chunks with the destination and part of `chunk`
};
using TransferSink = std::function<void(const Transfer&)>;

// Told now and then how much of the work is done, 0 to 1; false stops it.
using GreedyProgress = std::function<bool(double)>;

struct GreedyWork {
  double chunk_bytes = 1;
  uint64_t seed = 1;
  GreedyProgress progress = {};
  // Beyond so many, deliver lets chunks that meet on their way to one rank go on together.
  uint64_t max_transfers_alone = UINT64_MAX;
  uint64_t max_transfers = UINT64_MAX;  // deliver refuses more before it begins
};

// Every chunk to every rank (all_gather; broadcast when one rank owns all). `owner` by chunk.
// Returns when the last arrives, in ps. kAborted when progress says so.
[[nodiscard]] Result<int64_t> spread(const Network& network, const std::vector<uint32_t>& owner,
                                     const GreedyWork& work, const TransferSink& sink);

// Chunk (i p + j) k + part from rank i to rank j, for p ranks and k = `chunks_per_block`; ranks in
// between pass it on. kUnsupported beyond work.max_transfers, kAborted as above.
[[nodiscard]] Result<int64_t> deliver(const Network& network, uint32_t chunks_per_block,
                                      const GreedyWork& work, const TransferSink& sink);

}  // namespace tutti::plan::synth
