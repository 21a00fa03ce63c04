// Which algorithm serves a call on ranks of one host, where every rank can read every other's
// memory: what counts is how often data is touched and how many ranks must run before one can go
// on. These are the built-in rules; a table of what was measured (comm/tuning.h) comes before them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plan/algorithm.h"
#include "tutti/collective.h"

namespace tutti::comm {

struct Choice {
  std::string_view algorithm;  // the catalogue's name of it
  plan::Options options = {};

  friend bool operator==(const Choice&, const Choice&) = default;
};

// "pull", "pull, chunks 16"
[[nodiscard]] std::string to_string(const Choice& choice);

// `bytes` is the whole row, as in ir::Sizes::even.
[[nodiscard]] Choice choose_algorithm(const Collective& collective, uint64_t bytes);

}  // namespace tutti::comm
