// What has to come where: the chunks of a collective, each with the rank it starts from. all_gather
// and all_to_all are asked for directly; reduce_scatter is all_gather inverted, and all_reduce
// both.
#pragma once

#include <cstdint>

#include "plan/synth/sketch/sketch.h"

namespace tutti::plan::sketch {

enum class Pattern : uint8_t {
  kGather,    // every rank wants every chunk
  kExchange,  // block (i, j) goes from rank i to rank j
};

struct Demand {
  Pattern pattern = Pattern::kGather;
  uint32_t num_ranks = 1;
  uint32_t chunks = 1;     // of a block
  double chunk_bytes = 1;  // for which routes are chosen
  // What of a chunk must have come before it goes on: less than all of it where pieces of a chunk
  // follow each other. 0: all of it.
  double hop_bytes = 0;

  [[nodiscard]] double bytes_a_hop() const { return hop_bytes > 0 ? hop_bytes : chunk_bytes; }

  [[nodiscard]] uint32_t num_blocks() const {
    return pattern == Pattern::kGather ? num_ranks : num_ranks * num_ranks;
  }
  [[nodiscard]] uint32_t num_chunks() const { return num_blocks() * chunks; }
  [[nodiscard]] uint32_t origin(uint32_t chunk) const {
    const uint32_t block = chunk / chunks;
    return pattern == Pattern::kGather ? block : block / num_ranks;
  }
  // The one rank that an exchanged chunk goes to.
  [[nodiscard]] uint32_t target(uint32_t chunk) const { return chunk / chunks % num_ranks; }
  // Apart from the origin, which has it.
  [[nodiscard]] bool wants(uint32_t rank, uint32_t chunk) const {
    if (rank == origin(chunk)) return false;
    return pattern == Pattern::kGather || rank == target(chunk);
  }
  // The chunk that stands for this one when all ranks rotate.
  [[nodiscard]] uint32_t image(uint32_t chunk, const Rotation& rotation) const {
    uint32_t block = rotated(origin(chunk), rotation);
    if (pattern == Pattern::kExchange) {
      block = block * num_ranks + rotated(target(chunk), rotation);
    }
    return block * chunks + chunk % chunks;
  }
};

}  // namespace tutti::plan::sketch
