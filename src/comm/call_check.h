// Whether a call can be: sizes that fit each other, buffers that are there and do not overlap by
// accident, a root that exists. Everything is refused here, before anything moves.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "comm/program_cache.h"
#include "transport/record.h"
#include "tutti/communicator.h"
#include "tutti/result.h"

namespace tutti::comm {

// A call that was found to be in order, in the words of programs and of the wire.
struct CheckedCall {
  ProgramKey key;
  transport::Signature signature;
};

[[nodiscard]] Result<CheckedCall> check_call(const Call& call, uint32_t num_ranks, Rank self);

// When the call's deadline is, on base/clock.h.
[[nodiscard]] uint64_t deadline_of(const CallOptions& options);

}  // namespace tutti::comm
