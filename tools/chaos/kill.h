// Chaos in which one rank dies: at a random moment it kills itself, as outright as SIGKILL is. The
// survivors must learn who it was, from every operation that needed it, and go on without it.
#pragma once

#include "tools/chaos/settings.h"
#include "tools/launch/job.h"
#include "tutti/communicator.h"

namespace tutti::tools::chaos {

// In the launcher: runs the job, collects what the survivors say, looks for what is left behind,
// and prints the report. The exit code.
[[nodiscard]] int run_with_kill(const Settings& settings, launch::JobOptions options);

// In a rank. The exit code, of a survivor.
[[nodiscard]] int run_rank_with_kill(const Settings& settings, Communicator& world);

}  // namespace tutti::tools::chaos
