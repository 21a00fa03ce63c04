#include "frontends/nccl/group.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "frontends/nccl/alias.h"
#include "frontends/nccl/errors.h"

namespace tutti::nccl {
namespace {

Error not_started(const char* function) {
  return bad_usage(std::string(function) + " without ncclGroupStart");
}

// The first error. The jobs behind it run all the same: a split waits for this rank on the others,
// and a communicator that was to be destroyed is destroyed though its operations failed.
Status run_in_order(const std::vector<CallGroup::Job>& jobs) {
  Status first;
  for (const CallGroup::Job& job : jobs) {
    Status status = job();
    if (first.ok()) first = std::move(status);
  }
  return first;
}

}  // namespace

CallGroup& CallGroup::of_thread() {
  thread_local CallGroup group;
  return group;
}

Status CallGroup::end() {
  if (depth_ == 0) return not_started("ncclGroupEnd");
  if (--depth_ > 0) return {};
  Content content = std::exchange(content_, {});
  goes_on_ = false;
  Status status;
  if (content.error) status = *std::move(content.error);
  if (status.ok()) goes_on_ = run_aside(content.openings);
  if (status.ok()) status = run(content.openings);
  if (status.ok()) status = enqueue_all(content.batches);
  // Also after an error: what the program has let go of it cannot end again.
  Status closed = run(content.closings);
  return status.ok() ? closed : status;
}

Status CallGroup::drop() {
  if (depth_ == 0) return not_started("ncclGroupSimulateEnd");
  if (--depth_ == 0) content_ = {};
  return {};
}

Status CallGroup::refuse(Error error) {
  if (depth_ > 0 && !content_.error) content_.error = error;
  return error;
}

Status CallGroup::enqueue(ncclComm* comm, DeviceStream stream, const Call& call,
                          std::vector<Call> follows) {
  if (depth_ == 0 && follows.empty()) return comm->gpu().enqueue(call, stream);
  auto& batches = content_.batches;
  auto batch = std::find_if(batches.begin(), batches.end(), [&](const Batch& one) {
    return one.comm == comm && one.stream == stream;
  });
  if (batch == batches.end()) batch = batches.insert(batch, Batch{comm, stream, {}, {}});
  batch->calls.push_back(call);
  batch->follows.insert(batch->follows.end(), follows.begin(), follows.end());
  return end_if_alone();
}

size_t CallGroup::num_following(const ncclComm* comm, DeviceStream stream) const {
  for (const Batch& batch : content_.batches) {
    if (batch.comm == comm && batch.stream == stream) return batch.follows.size();
  }
  return 0;
}

ncclResult_t CallGroup::answered(const Status& status) const {
  const bool goes_on = status.ok() && depth_ == 0 && goes_on_;
  return goes_on ? ncclInProgress : answer(status);
}

Status CallGroup::open(const ncclComm* parent, ncclComm::Mode mode, Job job) {
  add(content_.openings, parent, mode, std::move(job));
  return end_if_alone();
}

Status CallGroup::close(ncclComm* comm, Job job) {
  add(content_.closings, comm, ncclComm::Mode::kBlocking, std::move(job));
  return end_if_alone();
}

void CallGroup::forget(const ncclComm* comm) {
  std::erase_if(content_.batches, [&](const Batch& batch) { return batch.comm == comm; });
  std::erase_if(content_.openings, [&](const Chain& chain) { return chain.parent == comm; });
  std::erase_if(content_.closings, [&](const Chain& chain) { return chain.parent == comm; });
}

Status CallGroup::end_if_alone() {
  if (depth_ > 0) return {};
  start();
  return end();
}

void CallGroup::add(std::vector<Chain>& chains, const ncclComm* parent, ncclComm::Mode mode,
                    Job job) {
  auto chain = std::find_if(chains.begin(), chains.end(), [&](const Chain& one) {
    return parent != nullptr && one.parent == parent && one.mode == mode;
  });
  if (chain == chains.end()) chain = chains.insert(chain, Chain{parent, mode, {}});
  chain->jobs.push_back(std::move(job));
}

// Each in a thread that nobody waits for: who has the handle asks how it is.
bool CallGroup::run_aside(std::vector<Chain>& chains) {
  const auto is_blocking = [](const Chain& one) { return one.mode == ncclComm::Mode::kBlocking; };
  const auto first = std::stable_partition(chains.begin(), chains.end(), is_blocking);
  const bool goes_on = first != chains.end();
  for (auto chain = first; chain != chains.end(); ++chain) {
    std::thread([jobs = std::move(chain->jobs)] { (void)run_in_order(jobs); }).detach();
  }
  chains.erase(first, chains.end());
  return goes_on;
}

Status CallGroup::run(std::span<Chain> chains) {
  std::vector<Status> statuses(chains.size());
  std::vector<std::thread> threads;
  for (size_t i = 1; i < chains.size(); ++i) {
    threads.emplace_back([&, i] { statuses[i] = run_in_order(chains[i].jobs); });
  }
  if (!chains.empty()) statuses[0] = run_in_order(chains[0].jobs);
  // Liveness: every job has a deadline.
  for (std::thread& thread : threads) thread.join();
  for (Status& status : statuses) {
    if (!status.ok()) return std::move(status);
  }
  return {};
}

// An error of one keeps no other from its peers.
Status CallGroup::enqueue_all(const std::vector<Batch>& batches) {
  Status first;
  for (const Batch& batch : batches) {
    Status status = batch.comm->gpu().enqueue(batch.calls, batch.stream);
    if (status.ok() && !batch.follows.empty()) {
      status = batch.comm->gpu().enqueue(batch.follows, batch.stream);
    }
    if (first.ok()) first = std::move(status);
  }
  return first;
}

}  // namespace tutti::nccl

using tutti::nccl::CallGroup;

extern "C" {

ncclResult_t ncclGroupStart() {
  CallGroup::of_thread().start();
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  CallGroup& group = CallGroup::of_thread();
  return group.answered(group.end());
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* /*info*/) {
  const tutti::Status dropped = CallGroup::of_thread().drop();
  if (!dropped.ok()) return tutti::nccl::failed(dropped.error());
  return tutti::nccl::failed(tutti::nccl::bad_usage(
      "ncclGroupSimulateEnd is not served; `tutti sim` says how long a schedule takes"));
}

}  // extern "C"

TUTTI_NCCL_ALIAS(GroupStart);
TUTTI_NCCL_ALIAS(GroupEnd);
TUTTI_NCCL_ALIAS(GroupSimulateEnd);
