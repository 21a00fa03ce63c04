// Where an operation's memory is: what its rank tells its peers when it issues it.
#pragma once

#include <cstdint>

#include "ir/step.h"
#include "transport/memory.h"
#include "transport/record.h"

namespace tutti::engine {

struct Hello {
  transport::RemoteAddress words;
  transport::RemoteAddress buffers[ir::kNumBuffers];
};

// Why an operation cannot complete, as the rank that found out tells the others. Ranks are those of
// the endpoint.
struct Failure {
  uint32_t code = 0;  // ErrorCode; kInvalidArgument: signatures differ
  uint32_t rank = 0;  // who found out
  uint32_t other = 0;
  uint32_t unused = 0;
  transport::Signature other_signature;
};

}  // namespace tutti::engine
