// How the numbers of operations and groups are made: hashes of where they come from, the same on
// every rank without talking.
#pragma once

#include <cstdint>

#include "tutti/communicator.h"

namespace tutti::comm {

// Keep numbers apart that come from different kinds of things.
inline constexpr uint64_t kNamed = 0x6e616d65;
inline constexpr uint64_t kPair = 0x70616972;
inline constexpr uint64_t kSubset = 0x73756273;
inline constexpr uint64_t kSplit = 0x73706c69;
inline constexpr uint64_t kShrink = 0x73687269;
inline constexpr uint64_t kTuned = 0x74756e65;
inline constexpr uint64_t kScheduled = 0x73636865;

// A good hash of two numbers; never 0.
[[nodiscard]] inline uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9E3779B97F4A7C15u + b + 0x632BE59BD9B4E019u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  x ^= x >> 31;
  return x == 0 ? 1 : x;
}
// What the caller's name and tag stand for within a scope.
[[nodiscard]] uint64_t key_of(uint64_t scope, const CallOptions& options);

}  // namespace tutti::comm
