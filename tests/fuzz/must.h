// A property that every input must have. libFuzzer keeps the input that broke it.
#pragma once

#include <cstdio>
#include <cstdlib>

#define TUTTI_MUST(condition)                                                      \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (false)
