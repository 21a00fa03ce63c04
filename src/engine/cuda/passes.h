// Operations that come to a few passes over memory: where all that a rank reads is there once every
// member has issued the operation, its program is a list of folds, then of words to members, then
// of words to wait for. That is run without lanes and steps (at_once_passes.h), and means the same:
// members may each run it as they like.
#pragma once

#include <optional>
#include <vector>

#include "engine/cuda/device_program.h"
#include "engine/cuda/fusion.h"

namespace tutti::engine::cuda {

struct Passes {
  std::vector<Pass> passes;
  std::vector<PassPlace> places;
  std::vector<Notice> notices;
  std::vector<uint32_t> awaited;  // by word of this rank: what it must have come to; 0: nothing
};

// Nothing if a step waits for what comes later than the word of its sender, or if
// there are too many of them.
[[nodiscard]] std::optional<Passes> passes_of(const FusedProgram& fused);

// Bytes that are read and written.
[[nodiscard]] uint64_t traffic_of(const Passes& passes);

}  // namespace tutti::engine::cuda
