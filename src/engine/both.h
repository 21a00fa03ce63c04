// What code that runs on CPU threads and in GPU kernels alike is written with.
#pragma once

#if defined(__CUDACC__)
#define TUTTI_BOTH __host__ __device__
#else
#define TUTTI_BOTH
#endif

namespace tutti::engine {

#if defined(TUTTI_PREEMPT_ALWAYS)
inline constexpr bool kPreemptAlways = true;
#else
inline constexpr bool kPreemptAlways = false;
#endif

}  // namespace tutti::engine
