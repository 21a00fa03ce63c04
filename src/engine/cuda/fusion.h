// Finds steps of a schedule that a GPU runs better together. The schedule stays what was proved; a
// fusion changes when and by whom bytes are moved, never which:
//
// - A sum of many messages is one pass over all of them: a step that only adds to what the step
//   before it in its lane wrote, and that nobody else waits for, is *deferred* into it.
// - A step whose result others are sent, be it a sum or what it received, writes it into their
//   outputs as well (*pushed*, and *given* to its receivers), if nobody reads or writes there
//   before: neither steps of the receiver that do not follow the receiving one, nor, in place,
//   readers of the input beneath, other than the step itself. Only where every rank does its share,
//   or one would do all the work. What then nobody reads where it arises is not written there
//   (*unkept*).
// - Input that is sent as it is can be read once the operation is issued (*implied*).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/bound_program.h"
#include "engine/cuda/device_program.h"
#include "ir/sizes.h"
#include "verify/verified_schedule.h"

namespace tutti::engine::cuda {

struct FusedProgram {
  BoundProgram program;
  std::vector<StepFusion> fusions;  // by step
  std::vector<Push> pushes;
  std::vector<DeviceLink> ins;
  std::vector<DeviceLink> outs;
  uint64_t largest_chunk = 0;  // of all ranks, in bytes
  bool is_inline = false;      // every message is input, which is small on all ranks
  bool is_narrow = false;      // all ranks come to a few passes (passes.h), for one block of each
};

// Programs of all ranks, for elements of `elem_bytes`. A chain of more than `most_sources` messages
// is cut.
[[nodiscard]] std::vector<FusedProgram> fuse(const verify::VerifiedSchedule& schedule,
                                             const ir::Sizes& sizes, uint32_t elem_bytes,
                                             uint32_t most_sources);

}  // namespace tutti::engine::cuda
