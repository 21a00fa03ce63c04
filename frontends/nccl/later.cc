// Functions that came after NCCL 2.28. They are not served, and say so; they are here so that
// programs that might call them start at all. What they are passed is not looked at.
#include "frontends/nccl/alias.h"
#include "frontends/nccl/errors.h"

#define TUTTI_NCCL_LATER(name)                                                                    \
  extern "C" ncclResult_t nccl##name() {                                                          \
    return tutti::nccl::failed(                                                                   \
        tutti::nccl::bad_usage("nccl" #name " is of a later version than 2.28, and not served")); \
  }                                                                                               \
  TUTTI_NCCL_ALIAS(name)

TUTTI_NCCL_LATER(AllGatherConfig);
TUTTI_NCCL_LATER(AllReduceConfig);
TUTTI_NCCL_LATER(AlltoAllConfig);
TUTTI_NCCL_LATER(BroadcastConfig);
TUTTI_NCCL_LATER(CommGetUniqueId);
TUTTI_NCCL_LATER(CommGrow);
TUTTI_NCCL_LATER(CommMemStats);
TUTTI_NCCL_LATER(CommQueryProperties);
TUTTI_NCCL_LATER(CommResume);
TUTTI_NCCL_LATER(CommSuspend);
TUTTI_NCCL_LATER(GatherConfig);
TUTTI_NCCL_LATER(GetLsaDevicePointer);
TUTTI_NCCL_LATER(GetLsaMultimemDevicePointer);
TUTTI_NCCL_LATER(GetMultimemDevicePointer);
TUTTI_NCCL_LATER(GetPeerDevicePointer);
TUTTI_NCCL_LATER(PutSignal);
TUTTI_NCCL_LATER(ReduceConfig);
TUTTI_NCCL_LATER(ReduceScatterConfig);
TUTTI_NCCL_LATER(ScatterConfig);
TUTTI_NCCL_LATER(Signal);
TUTTI_NCCL_LATER(WaitSignal);
TUTTI_NCCL_LATER(WinGetUserPtr);
