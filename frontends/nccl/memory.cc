// Memory of the GPU, and registering it: that happens by itself when memory is first used, so a
// program that does it has done nothing wrong and gains nothing.
#include "frontends/nccl/alias.h"
#include "frontends/nccl/comm.h"
#include "frontends/nccl/errors.h"

using tutti::Status;
using tutti::nccl::answer;
using tutti::nccl::bad_argument;
using tutti::nccl::failed;

extern "C" {

ncclResult_t ncclMemAlloc(void** memory, size_t bytes) {
  if (memory == nullptr) return failed(bad_argument("ptr is NULL"));
  *memory = nullptr;
  if (bytes == 0) return ncclSuccess;
  auto allocated = tutti::allocate_on_device(bytes);
  if (!allocated.ok()) return failed(allocated.error());
  *memory = *allocated;
  return ncclSuccess;
}

ncclResult_t ncclMemFree(void* memory) {
  return memory == nullptr ? ncclSuccess : answer(tutti::free_on_device(memory));
}

ncclResult_t ncclCommRegister(ncclComm_t comm, void* memory, size_t /*bytes*/, void** handle) {
  if (Status known = tutti::nccl::check(comm); !known.ok()) return failed(known.error());
  if (handle == nullptr) return failed(bad_argument("handle is NULL"));
  *handle = memory;
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(ncclComm_t comm, void* /*handle*/) {
  return answer(tutti::nccl::check(comm));
}

// No window is the answer that programs know for memory that cannot be one: they go on without.
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* /*memory*/, size_t /*bytes*/,
                                    ncclWindow_t* window, int /*flags*/) {
  if (Status known = tutti::nccl::check(comm); !known.ok()) return failed(known.error());
  if (window == nullptr) return failed(bad_argument("win is NULL"));
  *window = nullptr;
  return ncclSuccess;
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
  if (Status known = tutti::nccl::check(comm); !known.ok()) return failed(known.error());
  return window == nullptr ? ncclSuccess : failed(bad_argument("no such window: there are none"));
}

}  // extern "C"

TUTTI_NCCL_ALIAS(MemAlloc);
TUTTI_NCCL_ALIAS(MemFree);
TUTTI_NCCL_ALIAS(CommRegister);
TUTTI_NCCL_ALIAS(CommDeregister);
TUTTI_NCCL_ALIAS(CommWindowRegister);
TUTTI_NCCL_ALIAS(CommWindowDeregister);
