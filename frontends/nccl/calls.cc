// Collectives and messages: each says how long its buffers are and hands a Call over; whether the
// call can be is for the communicator to say.
#include <string>
#include <utility>
#include <vector>

#include "frontends/nccl/alias.h"
#include "frontends/nccl/comm.h"
#include "frontends/nccl/errors.h"
#include "frontends/nccl/group.h"
#include "frontends/nccl/reductions.h"

namespace tutti::nccl {
namespace {

struct Buffers {
  const void* input;
  void* output;
  size_t count;
  ncclDataType_t type;
};

// `rank` is a root or a peer.
struct Asked {
  CollectiveKind kind;
  ncclComm_t comm;
  cudaStream_t stream;
  int rank = 0;
  ncclRedOp_t op = ncclSum;
  bool receives = false;
};

// Elements of the row that all ranks have one part of. What overflows is as long as can be, which
// the communicator refuses.
uint64_t row_of(size_t count, uint32_t num_ranks) {
  uint64_t row = 0;
  return __builtin_mul_overflow(uint64_t{count}, num_ranks, &row) ? UINT64_MAX : row;
}

void set_lengths(Call& call, size_t count, uint32_t num_ranks, bool is_root) {
  const uint64_t row = row_of(count, num_ranks);
  call.input_elems = call.output_elems = count;
  switch (call.kind) {
    case CollectiveKind::kAllReduce: return;
    case CollectiveKind::kReduce: call.output_elems = is_root ? count : 0; return;
    case CollectiveKind::kBroadcast: call.input_elems = is_root ? count : 0; return;
    case CollectiveKind::kAllGather: call.output_elems = row; return;
    case CollectiveKind::kReduceScatter: call.input_elems = row; return;
    case CollectiveKind::kAllToAll: call.input_elems = call.output_elems = row; return;
    case CollectiveKind::kGather: call.output_elems = is_root ? row : 0; return;
    case CollectiveKind::kScatter: call.input_elems = is_root ? row : 0; return;
    case CollectiveKind::kSendRecv:
      (call.receives ? call.input_elems : call.output_elems) = 0;
      return;
    case CollectiveKind::kBarrier: call.input_elems = call.output_elems = 0; return;
  }
}

// A buffer without elements counts nowhere, so what a program passes there does not either.
void forget_unused(Call& call) {
  if (call.input_elems == 0) call.input = nullptr;
  if (call.output_elems == 0) call.output = nullptr;
}

Result<Call> call_of(const Asked& asked, const Buffers& buffers) {
  if (Status known = check_ready(asked.comm); !known.ok()) return std::move(known.error());
  if (asked.comm->is_final) return bad_usage("the communicator was finalized");
  const auto type = type_of(buffers.type);
  if (!type.ok()) return type.error();
  Call call{.kind = asked.kind, .type = *type, .input = buffers.input, .output = buffers.output};
  if (is_reducing(asked.kind)) {
    const auto reduction = reduction_of(asked.comm, asked.op, *type);
    if (!reduction.ok()) return reduction.error();
    call.options = *reduction;
  }
  const uint32_t num_ranks = asked.comm->gpu().num_ranks();
  if (asked.rank < 0 || static_cast<uint32_t>(asked.rank) >= num_ranks) {
    return bad_argument(std::string(to_string(asked.kind)) + ": root or peer " +
                        std::to_string(asked.rank) + " of " + std::to_string(num_ranks) + " ranks");
  }
  call.options.root = call.peer = static_cast<uint32_t>(asked.rank);
  call.receives = asked.receives;
  set_lengths(call, buffers.count, num_ranks, call.options.root == asked.comm->gpu().rank());
  forget_unused(call);
  return call;
}

// An all_to_all in place cannot be, so it goes to memory beside and from there, as a message of the
// rank to itself, back. That memory is the stream's and the communicator's, and a graph has
// neither.
Status exchange_in_place(const Asked& asked, Call call) {
  CallGroup& group = CallGroup::of_thread();
  const auto is_captured = asked.comm->gpu().is_capturing(asked.stream);
  if (!is_captured.ok()) return group.refuse(is_captured.error());
  if (*is_captured) {
    return group.refuse(
        bad_usage("ncclAlltoAll in place cannot be captured in a graph: give it "
                  "another receive buffer"));
  }
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(call.output_elems, size_of(call.type), &bytes)) bytes = UINT64_MAX;
  const size_t index = group.num_following(asked.comm, asked.stream);
  auto beside = asked.comm->scratch(asked.stream, index, bytes);
  if (!beside.ok()) return group.refuse(std::move(beside.error()));
  Call out{.kind = CollectiveKind::kSendRecv,
           .type = call.type,
           .input = *beside,
           .input_elems = call.output_elems,
           .peer = asked.comm->gpu().rank()};
  Call in{.kind = CollectiveKind::kSendRecv,
          .type = call.type,
          .output = call.output,
          .output_elems = call.output_elems,
          .peer = asked.comm->gpu().rank(),
          .receives = true};
  call.output = *beside;
  return group.enqueue(asked.comm, asked.stream, call, {out, in});
}

ncclResult_t submit(const Asked& asked, const Buffers& buffers) {
  CallGroup& group = CallGroup::of_thread();
  auto call = call_of(asked, buffers);
  if (!call.ok()) return answer(group.refuse(std::move(call.error())));
  if (buffers.count == 0) return ncclSuccess;  // on all ranks
  const bool is_exchange = asked.kind == CollectiveKind::kAllToAll;
  if (is_exchange && call->input == call->output && call->input != nullptr) {
    return answer(exchange_in_place(asked, *call));
  }
  return answer(group.enqueue(asked.comm, asked.stream, *call));
}

}  // namespace
}  // namespace tutti::nccl

using tutti::CollectiveKind;
using tutti::nccl::submit;

extern "C" {

ncclResult_t ncclAllReduce(const void* input, void* output, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return submit({.kind = CollectiveKind::kAllReduce, .comm = comm, .stream = stream, .op = op},
                {input, output, count, type});
}

ncclResult_t ncclReduce(const void* input, void* output, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return submit({CollectiveKind::kReduce, comm, stream, root, op}, {input, output, count, type});
}

ncclResult_t ncclBroadcast(const void* input, void* output, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  return submit({CollectiveKind::kBroadcast, comm, stream, root}, {input, output, count, type});
}

ncclResult_t ncclBcast(void* data, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return submit({CollectiveKind::kBroadcast, comm, stream, root}, {data, data, count, type});
}

ncclResult_t ncclAllGather(const void* input, void* output, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return submit({CollectiveKind::kAllGather, comm, stream}, {input, output, count, type});
}

ncclResult_t ncclReduceScatter(const void* input, void* output, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return submit({.kind = CollectiveKind::kReduceScatter, .comm = comm, .stream = stream, .op = op},
                {input, output, count, type});
}

ncclResult_t ncclAlltoAll(const void* input, void* output, size_t count, ncclDataType_t type,
                          ncclComm_t comm, cudaStream_t stream) {
  return submit({CollectiveKind::kAllToAll, comm, stream}, {input, output, count, type});
}

ncclResult_t ncclGather(const void* input, void* output, size_t count, ncclDataType_t type,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  return submit({CollectiveKind::kGather, comm, stream, root}, {input, output, count, type});
}

ncclResult_t ncclScatter(const void* input, void* output, size_t count, ncclDataType_t type,
                         int root, ncclComm_t comm, cudaStream_t stream) {
  return submit({CollectiveKind::kScatter, comm, stream, root}, {input, output, count, type});
}

ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return submit({CollectiveKind::kSendRecv, comm, stream, peer}, {data, nullptr, count, type});
}

ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return submit({.kind = CollectiveKind::kSendRecv,
                 .comm = comm,
                 .stream = stream,
                 .rank = peer,
                 .receives = true},
                {nullptr, data, count, type});
}

}  // extern "C"

TUTTI_NCCL_ALIAS(AllReduce);
TUTTI_NCCL_ALIAS(Reduce);
TUTTI_NCCL_ALIAS(Broadcast);
TUTTI_NCCL_ALIAS(Bcast);
TUTTI_NCCL_ALIAS(AllGather);
TUTTI_NCCL_ALIAS(ReduceScatter);
TUTTI_NCCL_ALIAS(AlltoAll);
TUTTI_NCCL_ALIAS(Gather);
TUTTI_NCCL_ALIAS(Scatter);
TUTTI_NCCL_ALIAS(Send);
TUTTI_NCCL_ALIAS(Recv);
