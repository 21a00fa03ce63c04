// include/tutti.h: communicators and works.
#include <vector>

#include "capi/handles.h"

using tutti::Communicator;
using tutti::ErrorCode;
using tutti::capi::answer;
using tutti::capi::failed;
using tutti::capi::hand_out;
using tutti::capi::options_of;

extern "C" {

tutti_error tutti_comm_from_environment(tutti_comm** comm) {
  if (comm == nullptr) return failed(ErrorCode::kInvalidArgument, "comm is NULL");
  *comm = nullptr;
  return hand_out(Communicator::from_environment(), comm);
}

tutti_error tutti_comm_threads(uint32_t num_ranks, tutti_comm** comms) {
  if (comms == nullptr) return failed(ErrorCode::kInvalidArgument, "comms is NULL");
  auto ranks = Communicator::threads(num_ranks);
  if (!ranks.ok()) return failed(ranks.error());
  for (uint32_t r = 0; r < num_ranks; ++r) {
    const tutti_error code = hand_out(tutti::Result((*ranks)[r]), &comms[r]);
    if (code == TUTTI_OK) continue;
    for (uint32_t made = 0; made < r; ++made) delete comms[made];
    return code;
  }
  return TUTTI_OK;
}

void tutti_comm_free(tutti_comm* comm) { delete comm; }

uint32_t tutti_comm_rank(const tutti_comm* comm) { return comm->comm.rank(); }
uint32_t tutti_comm_num_ranks(const tutti_comm* comm) { return comm->comm.num_ranks(); }

tutti_error tutti_comm_subset(tutti_comm* comm, const uint32_t* ranks, size_t num_ranks,
                              tutti_comm** part) {
  if (comm == nullptr || part == nullptr || (ranks == nullptr && num_ranks != 0)) {
    return failed(ErrorCode::kInvalidArgument, "subset: comm, ranks or part is NULL");
  }
  *part = nullptr;
  return hand_out(comm->comm.subset(std::span(ranks, num_ranks)), part);
}

tutti_error tutti_comm_duplicate(tutti_comm* comm, tutti_comm** copy) {
  if (comm == nullptr || copy == nullptr) {
    return failed(ErrorCode::kInvalidArgument, "duplicate: comm or copy is NULL");
  }
  *copy = nullptr;
  return hand_out(comm->comm.duplicate(), copy);
}

tutti_error tutti_comm_split(tutti_comm* comm, int64_t color, int64_t key,
                             const tutti_options* options, tutti_comm** part) {
  if (comm == nullptr || part == nullptr) {
    return failed(ErrorCode::kInvalidArgument, "split: comm or part is NULL");
  }
  *part = nullptr;
  const auto known = options_of(options);
  return known.ok() ? hand_out(comm->comm.split(color, key, *known), part) : failed(known.error());
}

tutti_error tutti_comm_with_schedule(tutti_comm* comm, const char* path,
                                     const tutti_byte_range* sizes, const tutti_options* options,
                                     tutti_comm** copy) {
  if (comm == nullptr || path == nullptr || copy == nullptr) {
    return failed(ErrorCode::kInvalidArgument, "with_schedule: comm, path or copy is NULL");
  }
  *copy = nullptr;
  const auto known = options_of(options);
  if (!known.ok()) return failed(known.error());
  tutti::ByteRange range;
  if (sizes != nullptr) range = {sizes->min_bytes, sizes->max_bytes};
  return hand_out(comm->comm.with_schedule(path, range, *known), copy);
}

tutti_error tutti_comm_shrink(tutti_comm* comm, const tutti_options* options, tutti_comm** rest) {
  if (comm == nullptr || rest == nullptr) {
    return failed(ErrorCode::kInvalidArgument, "shrink: comm or rest is NULL");
  }
  *rest = nullptr;
  const auto known = options_of(options);
  return known.ok() ? hand_out(comm->comm.shrink(*known), rest) : failed(known.error());
}

void tutti_comm_abort(tutti_comm* comm) { comm->comm.abort(); }

// Liveness: a work ends when its peers come, when one is lost, or at its deadline.
tutti_error tutti_work_wait(tutti_work* work) { return answer(work->work.wait()); }

tutti_error tutti_work_wait_for(tutti_work* work, int64_t limit_ns) {
  // Liveness: the limit ends it.
  if (!work->work.wait_for(std::chrono::nanoseconds(limit_ns))) return TUTTI_NOT_YET;
  return answer(work->work.wait());
}

tutti_error tutti_work_test(tutti_work* work) {
  // Liveness: it is over, so nothing is waited for.
  return work->work.test() ? answer(work->work.wait()) : TUTTI_NOT_YET;
}

void tutti_work_add(tutti_work* work, tutti_work* other) {
  work->work += std::move(other->work);
  delete other;
}

void tutti_work_free(tutti_work* work) { delete work; }

}  // extern "C"
