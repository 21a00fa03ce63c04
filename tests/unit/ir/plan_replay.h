// Runs an MSCCL++ plan on symbols, by the meaning its kernel gives the operations: one operation of
// one thread block at a time, in a random order of blocks. A value is the list of (rank, chunk)
// contributions that were summed. Also watches that a nop stands wherever threads of a block must
// meet, that tables keep their limits, and that nothing is left in channels and semaphores.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "ir/schedule.h"

namespace tutti::ir::test {

enum class PlanAliasing { kOutOfPlace, kInPlace };

// Empty if every output is what the collective says; else what went wrong.
[[nodiscard]] std::string replay_plan(const nlohmann::json& plan, const Schedule& schedule,
                                      PlanAliasing aliasing, uint64_t seed);

}  // namespace tutti::ir::test
