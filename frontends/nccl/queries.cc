// What can be asked of a communicator.
#include "frontends/nccl/alias.h"
#include "frontends/nccl/comm.h"
#include "frontends/nccl/errors.h"

using tutti::Status;
using tutti::nccl::bad_argument;
using tutti::nccl::failed;

namespace tutti::nccl {
namespace {

// Operations that failed. Of a revoked communicator, whose operations all fail, and of one that is
// finalized without waiting, first whether they are over.
ncclResult_t state_of(ncclComm& comm) {
  if (comm.is_in_progress()) return ncclInProgress;
  if (const Status made = comm.making().status(); !made.ok()) return failed(made.error());
  const bool must_end = comm.is_revoked || comm.is_final;
  if (must_end && !comm.gpu().is_idle()) return ncclInProgress;
  return comm.is_revoked ? ncclSuccess : answer(comm.gpu().status());
}

}  // namespace
}  // namespace tutti::nccl

namespace {

template <class Ask>
ncclResult_t tell(ncclComm_t comm, int* to, const Ask& ask) {
  if (Status known = tutti::nccl::check_ready(comm); !known.ok()) return failed(known.error());
  if (to == nullptr) return failed(bad_argument("there is no place for the answer: it is NULL"));
  *to = static_cast<int>(ask(comm->gpu()));
  return ncclSuccess;
}

}  // namespace

extern "C" {

// The code is the answer, the text is ncclGetLastError's.
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* result) {
  if (Status known = tutti::nccl::check(comm); !known.ok()) return failed(known.error());
  if (result == nullptr) return failed(bad_argument("asyncError is NULL"));
  *result = tutti::nccl::state_of(*comm);
  return ncclSuccess;
}

ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
  return tell(comm, count, [](const auto& gpu) { return gpu.num_ranks(); });
}

ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device) {
  return tell(comm, device, [](const auto& gpu) { return gpu.device(); });
}

ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  return tell(comm, rank, [](const auto& gpu) { return gpu.rank(); });
}

}  // extern "C"

TUTTI_NCCL_ALIAS(CommGetAsyncError);
TUTTI_NCCL_ALIAS(CommCount);
TUTTI_NCCL_ALIAS(CommCuDevice);
TUTTI_NCCL_ALIAS(CommUserRank);
