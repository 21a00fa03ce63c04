// How communicators end.
#include "frontends/nccl/alias.h"
#include "frontends/nccl/comm.h"
#include "frontends/nccl/errors.h"
#include "frontends/nccl/group.h"

using tutti::Status;
using tutti::nccl::answer;
using tutti::nccl::bad_argument;
using tutti::nccl::bad_usage;
using tutti::nccl::CallGroup;
using tutti::nccl::failed;

extern "C" {

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  CallGroup& group = CallGroup::of_thread();
  if (Status known = tutti::nccl::check_ready(comm); !known.ok()) {
    return answer(group.refuse(known.error()));
  }
  if (comm->is_revoked) {
    return answer(group.refuse(bad_usage("a revoked communicator cannot be finalized")));
  }
  if (comm->mode() == ncclComm::Mode::kNonBlocking) {
    const bool is_alone = !group.is_open();
    const Status status = group.close(comm, [comm] {
      comm->is_final = true;
      return Status{};
    });
    return is_alone && status.ok() && !comm->gpu().is_idle() ? ncclInProgress : answer(status);
  }
  return answer(group.close(comm, [comm] {
    comm->is_final = true;
    // Liveness: what is enqueued ends when its peers come, when one is lost, or at its deadline.
    return comm->gpu().finish();
  }));
}

// Waits for what is enqueued, and until it is made if it is being made. That an operation failed
// was ncclCommGetAsyncError's to say.
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  CallGroup& group = CallGroup::of_thread();
  if (Status known = tutti::nccl::check(comm); !known.ok()) {
    return answer(group.refuse(known.error()));
  }
  return answer(group.close(comm, [comm] {
    // Liveness: who makes it has a deadline.
    comm->making().wait();
    delete comm;
    return Status{};
  }));
}

// At once, in a group too: who aborts cannot wait for others.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  if (Status known = tutti::nccl::check(comm); !known.ok()) return failed(known.error());
  CallGroup::of_thread().forget(comm);
  const bool is_made = !comm->making().give_up() && comm->making().status().ok();
  if (!is_made) {
    delete comm;
    return ncclSuccess;
  }
  tutti::Communicator host = comm->gpu().host();
  comm->is_aborted = true;
  comm->gpu().abort();
  host.abort();
  delete comm;
  return ncclSuccess;
}

// As an abort, but the communicator stays, to be split, shrunk or destroyed when what is in streams
// has ended: ncclCommGetAsyncError says when.
ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags) {
  if (Status known = tutti::nccl::check_ready(comm); !known.ok()) return failed(known.error());
  if (flags != 0) return failed(bad_argument("revoke: there are no flags yet, so 0 is wanted"));
  CallGroup::of_thread().forget(comm);
  comm->is_aborted = comm->is_revoked = true;
  comm->gpu().abort();
  return ncclSuccess;
}

}  // extern "C"

TUTTI_NCCL_ALIAS(CommFinalize);
TUTTI_NCCL_ALIAS(CommDestroy);
TUTTI_NCCL_ALIAS(CommAbort);
TUTTI_NCCL_ALIAS(CommRevoke);
