// Where an operation's memory is: what its rank tells its peers when it issues it.
#pragma once

#include <cstdint>

#include "ir/step.h"
#include "transport/memory.h"

namespace tutti::engine {

struct Hello {
  transport::RemoteAddress words;
  transport::RemoteAddress buffers[ir::kNumBuffers];
};

// What is said of an operation that cannot complete: between these two ranks signatures differ.
struct Mismatch {
  uint32_t rank;  // of the endpoint
  uint32_t other;
  transport::Signature other_signature;
};

}  // namespace tutti::engine
