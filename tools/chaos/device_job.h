// A rank of chaos on a GPU: from seed to seed in one process, since opening a GPU takes longer than
// a run.
#pragma once

#include "tools/chaos/settings.h"
#include "tools/chaos/soak.h"
#include "tutti/communicator.h"

namespace tutti::tools::chaos {

// Called by all ranks. The exit code.
[[nodiscard]] int run_rank_on_gpu(const Settings& settings, const Soak& soak, Communicator& world);

}  // namespace tutti::tools::chaos
