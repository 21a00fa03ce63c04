// include/tutti.h: collectives and messages. Each says how long its buffers are and hands a Call
// over; whether the call can be is for the communicator to say.
#include <span>

#include "capi/handles.h"

using tutti::Call;
using tutti::CollectiveKind;
using tutti::Error;
using tutti::ErrorCode;
using tutti::capi::answer;
using tutti::capi::failed;

namespace {

struct Context {
  tutti_comm* comm;
  const tutti_options* options;
  tutti_work** work;

  [[nodiscard]] uint32_t num_ranks() const { return comm == nullptr ? 1 : comm->comm.num_ranks(); }
  [[nodiscard]] bool is_root() const {
    const uint32_t root = options == nullptr ? 0 : options->root;
    return comm != nullptr && comm->comm.rank() == root;
  }
};

struct Buffers {
  const void* input;
  void* output;
  tutti_type type;
};

struct Lengths {
  uint64_t input;
  uint64_t output;
};

// What overflows is as long as can be, which the communicator refuses.
uint64_t product(uint64_t count, uint64_t times) {
  uint64_t result = 0;
  return __builtin_mul_overflow(count, times, &result) ? UINT64_MAX : result;
}

uint64_t sum_of(std::span<const uint64_t> counts) {
  uint64_t sum = 0;
  for (const uint64_t count : counts) {
    if (__builtin_add_overflow(sum, count, &sum)) return UINT64_MAX;
  }
  return sum;
}

tutti_error submit(const Context& at, const Buffers& buffers, const Lengths& elems, Call call) {
  if (at.work != nullptr) *at.work = nullptr;
  if (at.comm == nullptr) return failed(ErrorCode::kInvalidArgument, "comm is NULL");
  if (!tutti::capi::is_one_of(buffers.type, tutti::kNumDataTypes)) {
    return failed(ErrorCode::kInvalidArgument, "no such type of elements");
  }
  const auto options = tutti::capi::options_of(at.options);
  if (!options.ok()) return failed(options.error());
  call.options = *options;
  call.type = static_cast<tutti::DataType>(buffers.type);
  call.input = buffers.input;
  call.input_elems = elems.input;
  call.output = buffers.output;
  call.output_elems = elems.output;
  tutti::Work work = at.comm->comm.submit(call);
  if (const Error* refusal = work.error()) return failed(*refusal);
  // Liveness: it ends when its peers come, when one is lost, or at its deadline.
  if (at.work == nullptr) return answer(work.wait());
  return tutti::capi::hand_out(tutti::Result(std::move(work)), at.work);
}

// Blocks of the counts. The buffer of all blocks is there on every rank, or at the root.
tutti_error submit_blocks(const Context& at, CollectiveKind kind, const Buffers& buffers,
                          const uint64_t* counts) {
  if (at.comm == nullptr || counts == nullptr) {
    return failed(ErrorCode::kInvalidArgument, "comm or counts is NULL");
  }
  const std::span all(counts, at.num_ranks());
  const bool is_everywhere =
      kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
  const uint64_t whole = is_everywhere || at.is_root() ? sum_of(all) : 0;
  const uint64_t own = all[at.comm->comm.rank()];
  const bool splits = kind == CollectiveKind::kScatter || kind == CollectiveKind::kReduceScatter;
  return submit(at, buffers, splits ? Lengths{whole, own} : Lengths{own, whole},
                {.kind = kind, .counts = all});
}

}  // namespace

// C has neither spans nor defaults: the parameters are those that NCCL's and MPI's calls have.
// NOLINTBEGIN(readability-function-size)
extern "C" {

tutti_error tutti_all_reduce(tutti_comm* comm, const void* input, void* output, uint64_t count,
                             tutti_type type, const tutti_options* options, tutti_work** work) {
  const Context at{comm, options, work};
  return submit(at, {input, output, type}, {count, count}, {.kind = CollectiveKind::kAllReduce});
}

tutti_error tutti_reduce(tutti_comm* comm, const void* input, void* output, uint64_t count,
                         tutti_type type, const tutti_options* options, tutti_work** work) {
  const Context at{comm, options, work};
  return submit(at, {input, output, type}, {count, at.is_root() ? count : 0},
                {.kind = CollectiveKind::kReduce});
}

tutti_error tutti_broadcast(tutti_comm* comm, void* data, uint64_t count, tutti_type type,
                            const tutti_options* options, tutti_work** work) {
  return submit({comm, options, work}, {data, data, type}, {count, count},
                {.kind = CollectiveKind::kBroadcast});
}

tutti_error tutti_all_gather(tutti_comm* comm, const void* input, void* output, uint64_t count,
                             tutti_type type, const tutti_options* options, tutti_work** work) {
  const Context at{comm, options, work};
  const uint64_t row = product(count, at.num_ranks());
  return submit(at, {input, output, type}, {count, row}, {.kind = CollectiveKind::kAllGather});
}

tutti_error tutti_reduce_scatter(tutti_comm* comm, const void* input, void* output, uint64_t count,
                                 tutti_type type, const tutti_options* options, tutti_work** work) {
  const Context at{comm, options, work};
  const uint64_t row = product(count, at.num_ranks());
  return submit(at, {input, output, type}, {row, count}, {.kind = CollectiveKind::kReduceScatter});
}

tutti_error tutti_gather(tutti_comm* comm, const void* input, void* output, uint64_t count,
                         tutti_type type, const tutti_options* options, tutti_work** work) {
  const Context at{comm, options, work};
  const uint64_t row = product(count, at.num_ranks());
  return submit(at, {input, output, type}, {count, at.is_root() ? row : 0},
                {.kind = CollectiveKind::kGather});
}

tutti_error tutti_scatter(tutti_comm* comm, const void* input, void* output, uint64_t count,
                          tutti_type type, const tutti_options* options, tutti_work** work) {
  const Context at{comm, options, work};
  const uint64_t row = product(count, at.num_ranks());
  return submit(at, {input, output, type}, {at.is_root() ? row : 0, count},
                {.kind = CollectiveKind::kScatter});
}

tutti_error tutti_all_to_all(tutti_comm* comm, const void* input, void* output, uint64_t count,
                             tutti_type type, const tutti_options* options, tutti_work** work) {
  const Context at{comm, options, work};
  const uint64_t row = product(count, at.num_ranks());
  return submit(at, {input, output, type}, {row, row}, {.kind = CollectiveKind::kAllToAll});
}

tutti_error tutti_barrier(tutti_comm* comm, const tutti_options* options, tutti_work** work) {
  return submit({comm, options, work}, {nullptr, nullptr, TUTTI_UINT8}, {0, 0},
                {.kind = CollectiveKind::kBarrier});
}

tutti_error tutti_all_gather_v(tutti_comm* comm, const void* input, void* output,
                               const uint64_t* counts, tutti_type type,
                               const tutti_options* options, tutti_work** work) {
  return submit_blocks({comm, options, work}, CollectiveKind::kAllGather, {input, output, type},
                       counts);
}

tutti_error tutti_reduce_scatter_v(tutti_comm* comm, const void* input, void* output,
                                   const uint64_t* counts, tutti_type type,
                                   const tutti_options* options, tutti_work** work) {
  return submit_blocks({comm, options, work}, CollectiveKind::kReduceScatter, {input, output, type},
                       counts);
}

tutti_error tutti_gather_v(tutti_comm* comm, const void* input, void* output,
                           const uint64_t* counts, tutti_type type, const tutti_options* options,
                           tutti_work** work) {
  return submit_blocks({comm, options, work}, CollectiveKind::kGather, {input, output, type},
                       counts);
}

tutti_error tutti_scatter_v(tutti_comm* comm, const void* input, void* output,
                            const uint64_t* counts, tutti_type type, const tutti_options* options,
                            tutti_work** work) {
  return submit_blocks({comm, options, work}, CollectiveKind::kScatter, {input, output, type},
                       counts);
}

tutti_error tutti_all_to_all_v(tutti_comm* comm, const void* input, const uint64_t* input_counts,
                               void* output, const uint64_t* output_counts, tutti_type type,
                               const tutti_options* options, tutti_work** work) {
  if (comm == nullptr || input_counts == nullptr || output_counts == nullptr) {
    return failed(ErrorCode::kInvalidArgument, "comm, input_counts or output_counts is NULL");
  }
  const Context at{comm, options, work};
  const std::span sent(input_counts, at.num_ranks());
  const std::span received(output_counts, at.num_ranks());
  return submit(at, {input, output, type}, {sum_of(sent), sum_of(received)},
                {.kind = CollectiveKind::kAllToAll, .counts = sent, .output_counts = received});
}

tutti_error tutti_send(tutti_comm* comm, const void* data, uint64_t count, tutti_type type,
                       uint32_t peer, const tutti_options* options, tutti_work** work) {
  return submit({comm, options, work}, {data, nullptr, type}, {count, 0},
                {.kind = CollectiveKind::kSendRecv, .peer = peer});
}

tutti_error tutti_recv(tutti_comm* comm, void* data, uint64_t count, tutti_type type, uint32_t peer,
                       const tutti_options* options, tutti_work** work) {
  return submit({comm, options, work}, {nullptr, data, type}, {0, count},
                {.kind = CollectiveKind::kSendRecv, .peer = peer, .receives = true});
}

}  // extern "C"
// NOLINTEND(readability-function-size)
