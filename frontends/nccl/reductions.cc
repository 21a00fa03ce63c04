#include "frontends/nccl/reductions.h"

#include <cstring>
#include <optional>

#include "frontends/nccl/alias.h"
#include "frontends/nccl/comm.h"
#include "frontends/nccl/errors.h"

namespace tutti::nccl {
namespace {

template <class T>
std::optional<double> number_at(const void* scalar) {
  T value;
  std::memcpy(&value, scalar, sizeof value);
  if constexpr (std::integral<T> && sizeof(T) == 8) {
    // Beyond 53 bits a double has gaps.
    constexpr int64_t kExact = int64_t{1} << 53;
    const bool is_exact =
        value <= static_cast<T>(kExact) && (std::unsigned_integral<T> || value >= T(-kExact));
    return is_exact ? std::optional(static_cast<double>(value)) : std::nullopt;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<double>(static_cast<float>(value));
  }
}

std::optional<double> number_at(const void* scalar, DataType type) {
  switch (type) {
    case DataType::kInt8: return number_at<int8_t>(scalar);
    case DataType::kUint8: return number_at<uint8_t>(scalar);
    case DataType::kInt16: return number_at<int16_t>(scalar);
    case DataType::kUint16: return number_at<uint16_t>(scalar);
    case DataType::kInt32: return number_at<int32_t>(scalar);
    case DataType::kUint32: return number_at<uint32_t>(scalar);
    case DataType::kInt64: return number_at<int64_t>(scalar);
    case DataType::kUint64: return number_at<uint64_t>(scalar);
    case DataType::kFloat16: return number_at<Float16>(scalar);
    case DataType::kBFloat16: return number_at<BFloat16>(scalar);
    case DataType::kFloat32: return number_at<float>(scalar);
    case DataType::kFloat64: return number_at<double>(scalar);
    case DataType::kFloat8E4M3: return number_at<Float8E4M3>(scalar);
    case DataType::kFloat8E5M2: return number_at<Float8E5M2>(scalar);
  }
  return std::nullopt;
}

Result<Premul> premul_of(const void* scalar, ncclDataType_t type, ncclScalarResidence_t residence) {
  const auto known = type_of(type);
  if (!known.ok()) return known.error();
  if (residence == ncclScalarDevice) {
    return bad_usage(
        "a scalar in the GPU's memory is not served: pass it with ncclScalarHostImmediate");
  }
  if (residence != ncclScalarHostImmediate) return bad_argument("no such residence of a scalar");
  const auto number = number_at(scalar, *known);
  if (!number) return bad_usage("a scalar of more than 53 bits is not served");
  return Premul{*known, *number};
}

}  // namespace

Result<DataType> type_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8: return DataType::kInt8;
    case ncclUint8: return DataType::kUint8;
    case ncclInt32: return DataType::kInt32;
    case ncclUint32: return DataType::kUint32;
    case ncclInt64: return DataType::kInt64;
    case ncclUint64: return DataType::kUint64;
    case ncclFloat16: return DataType::kFloat16;
    case ncclFloat32: return DataType::kFloat32;
    case ncclFloat64: return DataType::kFloat64;
    case ncclBfloat16: return DataType::kBFloat16;
    case ncclFloat8e4m3: return DataType::kFloat8E4M3;
    case ncclFloat8e5m2: return DataType::kFloat8E5M2;
    case ncclNumTypes: break;
  }
  return bad_argument("no such type of elements: " + std::to_string(static_cast<int>(type)));
}

Result<CallOptions> reduction_of(ncclComm_t comm, ncclRedOp_t op, DataType type) {
  switch (op) {
    case ncclSum: return CallOptions{.op = Op::kSum};
    case ncclProd: return CallOptions{.op = Op::kProd};
    case ncclMax: return CallOptions{.op = Op::kMax};
    case ncclMin: return CallOptions{.op = Op::kMin};
    case ncclAvg: return CallOptions{.op = Op::kAvg};
    case ncclNumOps:
    case ncclMaxRedOp: break;
  }
  const auto made = comm->find(op);
  if (!made) {
    return bad_argument("no such operator of this communicator: " +
                        std::to_string(static_cast<int>(op)));
  }
  if (made->type != type) {
    return bad_argument("the operator was made for " + std::string(to_string(made->type)) +
                        ", not for " + std::string(to_string(type)));
  }
  return CallOptions{.op = Op::kPremulSum, .factor = made->factor};
}

}  // namespace tutti::nccl

using tutti::Status;
using tutti::nccl::bad_argument;
using tutti::nccl::failed;

extern "C" {

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  if (Status known = tutti::nccl::check_ready(comm); !known.ok()) return failed(known.error());
  if (op == nullptr || scalar == nullptr) return failed(bad_argument("op or scalar is NULL"));
  const auto made = tutti::nccl::premul_of(scalar, type, residence);
  if (!made.ok()) return failed(made.error());
  *op = comm->add(*made);
  return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  if (Status known = tutti::nccl::check_ready(comm); !known.ok()) return failed(known.error());
  if (comm->remove(op)) return ncclSuccess;
  return failed(bad_argument("the communicator has made no such operator: " +
                             std::to_string(static_cast<int>(op))));
}

}  // extern "C"

TUTTI_NCCL_ALIAS(RedOpCreatePreMulSum);
TUTTI_NCCL_ALIAS(RedOpDestroy);
