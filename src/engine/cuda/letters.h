// What a leader writes in a letter, and what it goes by when it sorts letters.
#pragma once

#include "engine/cuda/context.h"
#include "engine/cuda/daemon_state.h"

namespace tutti::engine::cuda {

[[nodiscard]] TUTTI_BOTH inline uint32_t bucket_of(uint64_t operation) {
  return static_cast<uint32_t>((operation * 0x9E3779B97F4A7C15U) >> 54) % kBuckets;
}

[[nodiscard]] TUTTI_BOTH inline uint32_t whole_words(uint32_t bytes) { return (bytes + 7) / 8 * 8; }

// The index-th four bytes of the caller's input, which is so many bytes at any address; beyond it,
// zeros.
[[nodiscard]] TUTTI_BOTH inline uint32_t load_input(const std::byte* input, uint32_t bytes,
                                                    uint32_t index) {
  const uint32_t begin = 4 * index;
  const std::byte* const at = input + begin;
  if (reinterpret_cast<uintptr_t>(at) % 4 == 0 && begin + 4 <= bytes) {
    return load_relaxed(reinterpret_cast<const uint32_t*>(at));
  }
  uint32_t word = 0;
  TUTTI_NO_UNROLL
  for (uint32_t i = 0; i < 4 && begin + i < bytes; ++i) word |= load_byte(at + i) << 8 * i;
  return word;
}

TUTTI_BOTH inline void copy_input(std::byte* to, const std::byte* from, uint32_t bytes) {
  TUTTI_NO_UNROLL
  for (uint32_t i = 0; 4 * i < bytes; ++i) {
    reinterpret_cast<uint32_t*>(to)[i] = load_input(from, bytes, i);
  }
}

// All but the node, which is another one for each member, the stamp, and what the letter is about.
TUTTI_BOTH inline void write_head(Hello& hello, const Submission& issued,
                                  const DeviceProgram& program) {
  const bool is_inline = program.is_inline != 0;
  hello.inline_bytes = is_inline ? static_cast<uint16_t>(program.input_bytes) : kNotInline;
  hello.num_units = units_of_hello(is_inline, hello.inline_bytes);
  hello.operation = issued.operation;
  hello.signature = issued.signature;
  hello.factor = issued.factor;
  hello.words_stride = program.num_words();
  hello.member = static_cast<uint8_t>(program.self);
  hello.is_quick = program.is_summed != 0 || program.is_passed != 0 ? 1 : 0;
}

TUTTI_BOTH inline void write_addresses(Hello& hello, const Submission& issued,
                                       const DeviceProgram& program) {
  hello.addresses[0] = issued.input_there;
  hello.addresses[1] = issued.output_there;
  hello.addresses[2] = issued.context_there + program.homes.scratch;
  hello.addresses[kWordsAddress] = issued.context_there + program.homes.words;
}

// All but the node.
TUTTI_BOTH inline void write_hello(Hello& hello, const Context& context,
                                   const DeviceProgram& program) {
  write_head(hello, context.issued, program);
  hello.stamp = context.stamp;
  if (program.is_inline != 0) {
    copy_words(hello.input, context.members[program.self].input, whole_words(hello.inline_bytes));
    return;
  }
  write_addresses(hello, context.issued, program);
}

}  // namespace tutti::engine::cuda
