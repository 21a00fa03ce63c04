// Reads what a program asks for with an ncclConfig_t. What is about NCCL's own channels, networks
// and sharing changes nothing, and most of it is not looked at.
#pragma once

#include "frontends/nccl/comm.h"
#include "frontends/nccl/nccl_abi.h"
#include "tutti/result.h"

namespace tutti::nccl {

// Null is all defaults.
[[nodiscard]] Status check_config(const ncclConfig_t* config);
// Of one that was checked. Null: as `otherwise`, that of the communicator that is divided.
[[nodiscard]] ncclComm::Mode mode_of(const ncclConfig_t* config,
                                     ncclComm::Mode otherwise = ncclComm::Mode::kBlocking);

}  // namespace tutti::nccl
