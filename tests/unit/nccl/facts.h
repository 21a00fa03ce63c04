// The facts of a binary interface that a program compiled with one header relies on when it runs
// with another library. Two files collect them, each with one header: ours and NVIDIA's. The names
// are the same, so the files are compiled apart, and nothing here may be shared between them.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tutti::test {

using Facts = std::vector<std::pair<std::string, std::string>>;
// Of NVIDIA's header, and the version that it says it is.
[[nodiscard]] Facts real_facts();
[[nodiscard]] int real_version();

}  // namespace tutti::test

namespace {

template <class T>
std::string fact_shape() {
  if constexpr (std::is_void_v<T>) return "nothing";
  if constexpr (std::is_pointer_v<T>) return "pointer";
  if constexpr (!std::is_void_v<T> && !std::is_pointer_v<T>) {
    return (std::is_class_v<T> ? "struct " : "number ") + std::to_string(sizeof(T));
  }
}

template <class R, class... Args>
std::string fact_shape(R (*)(Args...)) {
  std::string text = fact_shape<R>() + " of";
  ((text += " " + fact_shape<Args>()), ...);
  return text;
}

}  // namespace

#define TUTTI_FACT_VALUE(name) {#name, std::to_string(static_cast<long long>(name))},
#define TUTTI_FACT_SIZE(name) {"size of " #name, std::to_string(sizeof(name))},
#define TUTTI_FACT_FIELD(type, field) {#type "." #field, std::to_string(offsetof(type, field))},
#define TUTTI_FACT_FUNCTION(name) {#name, fact_shape(&name)},
// A list for the braces of Facts.
#define TUTTI_FACTS \
  TUTTI_FACT_LIST(TUTTI_FACT_VALUE, TUTTI_FACT_SIZE, TUTTI_FACT_FIELD, TUTTI_FACT_FUNCTION)

// clang-format off
#define TUTTI_FACT_LIST(VALUE, SIZE, FIELD, FUNCTION) \
  VALUE(ncclSuccess) VALUE(ncclUnhandledCudaError) VALUE(ncclSystemError) \
  VALUE(ncclInternalError) VALUE(ncclInvalidArgument) VALUE(ncclInvalidUsage) \
  VALUE(ncclRemoteError) VALUE(ncclInProgress) VALUE(ncclNumResults) VALUE(ncclSum) \
  VALUE(ncclProd) VALUE(ncclMax) VALUE(ncclMin) VALUE(ncclAvg) VALUE(ncclNumOps) \
  VALUE(ncclMaxRedOp) VALUE(ncclInt8) VALUE(ncclUint8) VALUE(ncclInt32) VALUE(ncclUint32) \
  VALUE(ncclInt64) VALUE(ncclUint64) VALUE(ncclFloat16) VALUE(ncclFloat32) VALUE(ncclFloat64) \
  VALUE(ncclBfloat16) VALUE(ncclFloat8e4m3) VALUE(ncclFloat8e5m2) VALUE(ncclNumTypes) \
  VALUE(ncclScalarDevice) VALUE(ncclScalarHostImmediate) \
  SIZE(ncclUniqueId) SIZE(ncclResult_t) SIZE(ncclRedOp_t) SIZE(ncclDataType_t) \
  SIZE(ncclScalarResidence_t) SIZE(ncclConfig_t) SIZE(ncclSimInfo_t) \
  FIELD(ncclConfig_t, size) FIELD(ncclConfig_t, magic) FIELD(ncclConfig_t, version) \
  FIELD(ncclConfig_t, blocking) FIELD(ncclConfig_t, cgaClusterSize) \
  FIELD(ncclConfig_t, minCTAs) FIELD(ncclConfig_t, maxCTAs) FIELD(ncclConfig_t, netName) \
  FIELD(ncclConfig_t, splitShare) FIELD(ncclConfig_t, trafficClass) \
  FIELD(ncclConfig_t, commName) FIELD(ncclConfig_t, collnetEnable) \
  FIELD(ncclConfig_t, CTAPolicy) FIELD(ncclConfig_t, shrinkShare) FIELD(ncclConfig_t, nvlsCTAs) \
  FIELD(ncclConfig_t, nChannelsPerNetPeer) FIELD(ncclConfig_t, nvlinkCentricSched) \
  FIELD(ncclSimInfo_t, size) FIELD(ncclSimInfo_t, magic) FIELD(ncclSimInfo_t, version) \
  FIELD(ncclSimInfo_t, estimatedTime) \
  FUNCTION(ncclGetVersion) FUNCTION(ncclGetErrorString) FUNCTION(ncclGetLastError) \
  FUNCTION(ncclResetDebugInit) FUNCTION(ncclGetUniqueId) FUNCTION(ncclCommInitRank) \
  FUNCTION(ncclCommInitRankConfig) FUNCTION(ncclCommInitRankScalable) FUNCTION(ncclCommInitAll) \
  FUNCTION(ncclCommSplit) FUNCTION(ncclCommShrink) FUNCTION(ncclCommFinalize) \
  FUNCTION(ncclCommDestroy) FUNCTION(ncclCommAbort) FUNCTION(ncclCommRevoke) \
  FUNCTION(ncclCommGetAsyncError) FUNCTION(ncclCommCount) FUNCTION(ncclCommCuDevice) \
  FUNCTION(ncclCommUserRank) FUNCTION(ncclMemAlloc) FUNCTION(ncclMemFree) \
  FUNCTION(ncclCommRegister) FUNCTION(ncclCommDeregister) FUNCTION(ncclCommWindowRegister) \
  FUNCTION(ncclCommWindowDeregister) FUNCTION(ncclRedOpCreatePreMulSum) \
  FUNCTION(ncclRedOpDestroy) FUNCTION(ncclAllReduce) FUNCTION(ncclReduce) FUNCTION(ncclBcast) \
  FUNCTION(ncclBroadcast) FUNCTION(ncclAllGather) FUNCTION(ncclReduceScatter) \
  FUNCTION(ncclAlltoAll) FUNCTION(ncclGather) FUNCTION(ncclScatter) FUNCTION(ncclSend) \
  FUNCTION(ncclRecv) FUNCTION(ncclGroupStart) FUNCTION(ncclGroupEnd) \
  FUNCTION(ncclGroupSimulateEnd)
// clang-format on
