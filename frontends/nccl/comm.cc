#include "frontends/nccl/comm.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "frontends/nccl/errors.h"

namespace tutti::nccl {
namespace {

// Memory of aborted communicators, which what they have in streams may still use, and whose freeing
// may wait for those streams. So it is freed later, when memory is taken or given back anyway.
class Leftovers {
 public:
  // Never destroyed: the end of the process waits for no stream.
  static Leftovers& get() {
    static auto& leftovers = *new Leftovers;
    return leftovers;
  }

  void keep(DeviceCommunicator gpu, std::vector<void*> memory) {
    const std::lock_guard lock(mutex_);
    kept_.push_back({std::move(gpu), std::move(memory)});
  }
  // What is not used any more.
  void free() {
    std::vector<Kept> over;
    {
      const std::lock_guard lock(mutex_);
      const auto is_used = [](const Kept& one) { return !one.gpu.is_idle(); };
      const auto first = std::partition(kept_.begin(), kept_.end(), is_used);
      std::move(first, kept_.end(), std::back_inserter(over));
      kept_.erase(first, kept_.end());
    }
    for (const Kept& one : over) {
      for (void* const memory : one.memory) (void)free_on_device(memory);
    }
  }

 private:
  struct Kept {
    DeviceCommunicator gpu;
    std::vector<void*> memory;
  };
  std::mutex mutex_;
  std::vector<Kept> kept_;
};

}  // namespace
}  // namespace tutti::nccl

using tutti::nccl::Leftovers;

ncclComm::~ncclComm() {
  magic_ = 0;
  // Taken, so that it ends here, whoever else has looked at it.
  const std::optional<tutti::DeviceCommunicator> ranks = making_->take();
  if (scratch_.empty() || !ranks) return;
  for (const auto& [whose, scratch] : scratch_) outgrown_.push_back(scratch.memory);
  if (is_aborted) {
    Leftovers::get().keep(*ranks, std::move(outgrown_));
    return;
  }
  // Liveness: what is enqueued ends when its peers come, when one is lost, or at its deadline.
  (void)tutti::DeviceCommunicator(*ranks).finish();
  for (void* const memory : outgrown_) (void)tutti::free_on_device(memory);
  Leftovers::get().free();
}

ncclRedOp_t ncclComm::add(tutti::nccl::Premul op) {
  const std::lock_guard lock(mutex_);
  auto free = std::find(ops_.begin(), ops_.end(), std::nullopt);
  if (free == ops_.end()) free = ops_.emplace(free);
  *free = op;
  return static_cast<ncclRedOp_t>(ncclNumOps + (free - ops_.begin()));
}

std::optional<tutti::nccl::Premul> ncclComm::find(ncclRedOp_t op) {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<size_t>(op) - ncclNumOps;
  return op >= ncclNumOps && index < ops_.size() ? ops_[index] : std::nullopt;
}

bool ncclComm::remove(ncclRedOp_t op) {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<size_t>(op) - ncclNumOps;
  return op >= ncclNumOps && index < ops_.size() && std::exchange(ops_[index], {}).has_value();
}

tutti::Result<void*> ncclComm::scratch(tutti::DeviceStream stream, size_t index, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  Scratch& own = scratch_[{stream, index}];
  if (own.bytes >= bytes) return own.memory;
  Leftovers::get().free();
  const uint64_t larger = std::max(bytes, 2 * own.bytes);
  auto memory = tutti::allocate_on_device(larger, gpu().device());
  if (!memory.ok()) return memory;
  if (own.memory != nullptr) outgrown_.push_back(own.memory);  // operations may be at it
  own = {*memory, larger};
  return own.memory;
}

bool ncclComm::is_in_progress() {
  if (!making_->is_over()) return true;
  const std::lock_guard lock(mutex_);
  const auto is_over = [](const std::weak_ptr<tutti::nccl::Making>& one) {
    const auto part = one.lock();
    return part == nullptr || part->is_over();
  };
  std::erase_if(parts_, is_over);
  return !parts_.empty();
}

void ncclComm::add_part(const std::shared_ptr<tutti::nccl::Making>& part) {
  const std::lock_guard lock(mutex_);
  parts_.push_back(part);
}

namespace tutti::nccl {

Status check(ncclComm_t comm) {
  if (comm == nullptr) return bad_argument("comm is NULL");
  if (!comm->is_one()) return bad_argument("comm is no communicator, or was destroyed");
  return {};
}

Status check_ready(ncclComm_t comm) {
  if (Status known = check(comm); !known.ok()) return known;
  if (comm->is_in_progress()) {
    return bad_argument(
        "the communicator's last call is in progress: ask ncclCommGetAsyncError until it is over");
  }
  return comm->making().status();
}

}  // namespace tutti::nccl
