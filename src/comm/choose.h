// Which algorithm serves a call on ranks of one host, where every rank can read every other's
// memory: what counts is how often data is touched and how many ranks must run before one can go
// on.
#pragma once

#include <cstdint>
#include <string_view>

#include "tutti/collective.h"

namespace tutti::comm {

struct Choice {
  std::string_view algorithm;
  uint32_t chunks = 0;  // plan::Options; 0: what the algorithm does without being asked
};

// `bytes` is the whole row, as in ir::Sizes::even.
[[nodiscard]] Choice choose_algorithm(const Collective& collective, uint64_t bytes);

}  // namespace tutti::comm
