// Runs a schedule on real numbers, slowly and plainly: one step at a time, in a random order of
// lanes, by the letter of docs/reference/schedule.md. It shares no code with the verifier, the
// simulator or an engine, so that agreement between them means something.
#pragma once

#include <cstdint>

#include "ir/schedule.h"
#include "ir/sizes.h"
#include "tutti/result.h"

namespace tutti::test {

enum class Discipline { kLending, kSlots };
enum class Aliasing { kOutOfPlace, kInPlace };

struct InterpreterOptions {
  Discipline discipline = Discipline::kLending;
  Aliasing aliasing = Aliasing::kOutOfPlace;
  uint64_t seed = 1;  // of the order in which lanes run
};

// Fills every input with numbers that depend on rank, block and place; runs the schedule with sum
// as the reduction; compares every output with the collective's definition, and every input that
// must not change with what it was. The error names the first difference, or the steps that are
// stuck.
[[nodiscard]] Status interpret(const ir::Schedule& schedule, const ir::Sizes& sizes,
                               const InterpreterOptions& options);

}  // namespace tutti::test
