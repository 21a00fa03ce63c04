// Small operations as lists of sums: where every message is input, which travels with the first
// word, a rank's program comes to sums of inputs that go to its output, each once. That is run
// without lanes and steps, which would cost a GPU's thread more than everything else.
#pragma once

#include <optional>
#include <vector>

#include "engine/cuda/device_program.h"
#include "engine/cuda/fusion.h"

namespace tutti::engine::cuda {

struct Sums {
  std::vector<Sum> sums;
  std::vector<SumSource> sources;
};

// Nothing if a step reads or writes anything else, as scratch.
[[nodiscard]] std::optional<Sums> sums_of(const FusedProgram& fused);

}  // namespace tutti::engine::cuda
