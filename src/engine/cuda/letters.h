// What a leader writes in a letter, and what it goes by when it sorts letters.
#pragma once

#include "engine/cuda/context.h"
#include "engine/cuda/daemon_state.h"

namespace tutti::engine::cuda {

[[nodiscard]] TUTTI_BOTH inline uint32_t bucket_of(uint64_t operation) {
  return static_cast<uint32_t>((operation * 0x9E3779B97F4A7C15U) >> 54) % kBuckets;
}

[[nodiscard]] TUTTI_BOTH inline uint32_t whole_words(uint32_t bytes) { return (bytes + 7) / 8 * 8; }

// The caller's, at any address.
TUTTI_BOTH inline void copy_input(std::byte* to, const std::byte* from, uint32_t bytes) {
  if (reinterpret_cast<uintptr_t>(from) % 8 == 0 && bytes % 8 == 0) {
    return copy_words(to, from, bytes);
  }
  TUTTI_NO_UNROLL
  for (uint32_t i = 0; i < bytes; ++i) to[i] = from[i];
}

// All but the node, which is another one for each member.
TUTTI_BOTH inline void write_hello(Hello& hello, const Context& context,
                                   const DeviceProgram& program) {
  const bool is_inline = program.is_inline != 0;
  hello.inline_bytes = is_inline ? static_cast<uint16_t>(program.input_bytes) : kNotInline;
  hello.num_units = units_of_hello(is_inline, hello.inline_bytes);
  hello.stamp = context.stamp;
  hello.operation = context.issued.operation;
  hello.signature = context.issued.signature;
  hello.factor = context.issued.factor;
  hello.words_stride = program.num_words();
  hello.member = static_cast<uint16_t>(program.self);
  if (is_inline) {
    copy_words(hello.input, context.members[program.self].input, whole_words(hello.inline_bytes));
    return;
  }
  hello.addresses[0] = context.issued.input_there;
  hello.addresses[1] = context.issued.output_there;
  hello.addresses[2] = context.issued.context_there + program.homes.scratch;
  hello.addresses[kWordsAddress] = context.issued.context_there + program.homes.words;
}

}  // namespace tutti::engine::cuda
