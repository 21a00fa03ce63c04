// Reads what a program asks for with an ncclConfig_t. What is about NCCL's own channels, networks
// and sharing changes nothing, and most of it is not looked at; every call is as if `blocking`
// were 1.
#pragma once

#include "frontends/nccl/nccl_abi.h"
#include "tutti/result.h"

namespace tutti::nccl {

// Null is all defaults.
[[nodiscard]] Status check_config(const ncclConfig_t* config);

}  // namespace tutti::nccl
