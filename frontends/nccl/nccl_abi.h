// The binary interface of NCCL 2.28: what programs that were compiled with its header call, and how
// their arguments lie in memory. tests/unit/nccl compares every fact here with nccl.h where there
// is one. Names and values are not ours to choose.
#pragma once

#include <climits>
#include <cstddef>

struct CUstream_st;
struct ncclComm;
struct ncclWindow_vidmem;

extern "C" {

using cudaStream_t = CUstream_st*;
using ncclComm_t = ncclComm*;
using ncclWindow_t = ncclWindow_vidmem*;

struct ncclUniqueId {
  char internal[128];
};

enum ncclResult_t {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
  ncclNumResults = 8,
};

// From ncclNumOps on: operators that a communicator made.
enum ncclRedOp_t {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4,
  ncclNumOps = 5,
  ncclMaxRedOp = 0x7fffffff,
};

enum ncclDataType_t {
  ncclInt8 = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11,
  ncclNumTypes = 12,
};

enum ncclScalarResidence_t { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 };

// Grows at its end from version to version; `size` says how much of it the program has.
struct ncclConfig_t {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int blocking;
  int cgaClusterSize;
  int minCTAs;
  int maxCTAs;
  const char* netName;
  int splitShare;
  int trafficClass;
  const char* commName;
  int collnetEnable;
  int CTAPolicy;
  int shrinkShare;
  int nvlsCTAs;
  int nChannelsPerNetPeer;
  int nvlinkCentricSched;
};

struct ncclSimInfo_t {
  size_t size;
  unsigned int magic;
  unsigned int version;
  float estimatedTime;
};

ncclResult_t ncclGetVersion(int* version);
const char* ncclGetErrorString(ncclResult_t result);
const char* ncclGetLastError(ncclComm_t comm);
void ncclResetDebugInit();

ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int num_ranks, ncclUniqueId id, int rank);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int num_ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config);
ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int num_ranks, int rank, int num_ids,
                                      ncclUniqueId* ids, ncclConfig_t* config);
ncclResult_t ncclCommInitAll(ncclComm_t* comms, int num_devices, const int* devices);
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* part,
                           ncclConfig_t* config);
ncclResult_t ncclCommShrink(ncclComm_t comm, int* excluded, int num_excluded, ncclComm_t* rest,
                            ncclConfig_t* config, int flags);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags);

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* result);
ncclResult_t ncclCommCount(ncclComm_t comm, int* count);
ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device);
ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank);

ncclResult_t ncclMemAlloc(void** memory, size_t bytes);
ncclResult_t ncclMemFree(void* memory);
ncclResult_t ncclCommRegister(ncclComm_t comm, void* memory, size_t bytes, void** handle);
ncclResult_t ncclCommDeregister(ncclComm_t comm, void* handle);
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* memory, size_t bytes,
                                    ncclWindow_t* window, int flags);
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window);

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm);
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);

ncclResult_t ncclAllReduce(const void* input, void* output, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclReduce(const void* input, void* output, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclBcast(void* data, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream);
ncclResult_t ncclBroadcast(const void* input, void* output, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAllGather(const void* input, void* output, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclReduceScatter(const void* input, void* output, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAlltoAll(const void* input, void* output, size_t count, ncclDataType_t type,
                          ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclGather(const void* input, void* output, size_t count, ncclDataType_t type,
                        int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclScatter(const void* input, void* output, size_t count, ncclDataType_t type,
                         int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);

ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* info);

}  // extern "C"

namespace tutti::nccl {

inline constexpr int kVersion = 22809;
inline constexpr unsigned int kConfigMagic = 0xcafebeef;
inline constexpr int kUndefined = INT_MIN;  // of a config's numbers
inline constexpr int kNoColor = -1;
inline constexpr int kShrinkAborts = 1;

}  // namespace tutti::nccl
