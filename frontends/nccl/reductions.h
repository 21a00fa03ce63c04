// NCCL's types and operators in tutti's words.
#pragma once

#include "frontends/nccl/nccl_abi.h"
#include "tutti/communicator.h"
#include "tutti/data_type.h"
#include "tutti/result.h"

namespace tutti::nccl {

[[nodiscard]] Result<DataType> type_of(ncclDataType_t type);

// Operator and factor, of NCCL's own operators and of those that the communicator made.
[[nodiscard]] Result<CallOptions> reduction_of(ncclComm_t comm, ncclRedOp_t op, DataType type);

}  // namespace tutti::nccl
