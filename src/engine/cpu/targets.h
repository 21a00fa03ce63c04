// Which instruction sets the kernels are compiled for. Include it before any Highway header.
// A set costs seconds of compile time for every file of kernels, so only those that pay are in:
// AVX2, AVX-512 and NEON, and the plain C++ that Highway falls back on.
#pragma once

// SSSE3 and SSE4: machines that have no more than these are older than 2013.
// SVE: vectors of a length unknown to the compiler; every machine that has it has NEON.
// NOLINTNEXTLINE(readability-identifier-naming)
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
