// Between two looks at memory that another core writes: tells the core that it is a loop.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tutti::engine {

inline void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace tutti::engine
