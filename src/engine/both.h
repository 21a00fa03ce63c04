// What code that runs on CPU threads and in GPU kernels alike is written with.
#pragma once

#if defined(__CUDACC__)
#define TUTTI_BOTH __host__ __device__
#else
#define TUTTI_BOTH
#endif

// Before a loop that is not worth its copies: they would cost the fast loops of a kernel registers.
#if defined(__CUDA_ARCH__)
#define TUTTI_NO_UNROLL _Pragma("unroll 1")
#else
#define TUTTI_NO_UNROLL
#endif

namespace tutti::engine {

#if defined(TUTTI_PREEMPT_ALWAYS)
inline constexpr bool kPreemptAlways = true;
#else
inline constexpr bool kPreemptAlways = false;
#endif

}  // namespace tutti::engine
