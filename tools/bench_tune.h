// One rank of `tutti bench --tune`: what it prints, and the file it leaves.
#pragma once

#include <string>

#include "tools/perf/tune.h"

namespace tutti::tools {

struct TuneArguments {
  double seconds = 60;
  std::string out;  // empty: the user's own table
};

// Runs on every rank of a job; rank 0 prints and writes. What a table on this machine has for other
// collectives and rank counts stays in it. The exit code.
[[nodiscard]] int tune_rank(const TuneArguments& arguments, perf::TuneOptions options);

}  // namespace tutti::tools
