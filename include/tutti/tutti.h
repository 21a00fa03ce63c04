// All of tutti's public API.
#pragma once

#include "tutti/collective.h"    // IWYU pragma: export
#include "tutti/communicator.h"  // IWYU pragma: export
#include "tutti/data_type.h"     // IWYU pragma: export
#include "tutti/memory.h"        // IWYU pragma: export
#include "tutti/result.h"        // IWYU pragma: export
#include "tutti/schedule.h"      // IWYU pragma: export
#include "tutti/simulation.h"    // IWYU pragma: export
#include "tutti/topology.h"      // IWYU pragma: export
#include "tutti/version.h"       // IWYU pragma: export
#include "tutti/work.h"          // IWYU pragma: export
