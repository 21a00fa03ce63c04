#include "ir/msccl/plan_block_writer.h"

#include <algorithm>
#include <utility>

namespace tutti::ir::msccl {
namespace {

size_t groups(size_t count, size_t size) { return (count + size - 1) / size; }

// One operation for every few of the items.
std::vector<PlanOp> in_groups(std::string_view name, const std::vector<uint32_t>& items,
                              size_t size, std::vector<uint32_t> PlanOp::*list) {
  std::vector<PlanOp> ops;
  for (size_t begin = 0; begin < items.size(); begin += size) {
    PlanOp& op = ops.emplace_back();
    op.name = name;
    const size_t end = std::min(begin + size, items.size());
    (op.*list).assign(items.begin() + static_cast<std::ptrdiff_t>(begin),
                      items.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return ops;
}

PlanOp named(std::string_view name) {
  PlanOp op;
  op.name = name;
  return op;
}

constexpr size_t kClosingOps = 2;  // nop, sem_release

}  // namespace

// At most: sem_acquire, wait, nop, copy, nop, put, nop, signal, nop, sem_release.
size_t PlanBlockWriter::Needs::max_ops() const {
  return 8 + groups(num_acquired, kPlanMaxSemaphoresPerOp) +
         groups(num_released, kPlanMaxSemaphoresPerOp);
}

size_t PlanBlockWriter::num_greetings() const {
  return groups(new_recvs_.size(), kPlanMaxChannelsPerOp) +
         groups(new_sends_.size(), kPlanMaxChannelsPerOp) + 2;  // sem_acquire, nop
}

bool PlanBlockWriter::fits(const Needs& needs) const {
  const auto is_new = [](const auto& list, const auto& item) {
    return item && std::find(list.begin(), list.end(), *item) == list.end();
  };
  std::optional<uint32_t> buffer;
  if (needs.target) {
    const auto& known = rank_.remote_buffers;
    buffer =
        static_cast<uint32_t>(std::find(known.begin(), known.end(), *needs.target) - known.begin());
  }
  const size_t num_channels = block_.channels.size() +
                              (is_new(block_.channels, needs.recv) ? 1 : 0) +
                              (is_new(block_.channels, needs.send) ? 1 : 0);
  const size_t num_buffers =
      block_.remote_buffers.size() + (is_new(block_.remote_buffers, buffer) ? 1 : 0);
  const size_t num_ops = num_greetings() + 2 + block_.ops.size() + needs.max_ops() + kClosingOps;
  return num_channels <= kPlanMaxChannels && num_buffers <= kPlanMaxRemoteBuffers &&
         num_ops <= kPlanMaxOps;
}

void PlanBlockWriter::begin_step(const Needs& needs) {
  if (!block_.ops.empty() && !fits(needs)) {
    const uint32_t semaphore = rank_.num_semaphores++;
    release({semaphore});
    close_block();
    opening_ = semaphore;
  }
  needs_ = needs;
  if (needs.recv && greeted_.insert(*needs.recv).second) {
    new_recvs_.push_back(local_channel(*needs.recv));
  }
  if (needs.send && greeted_.insert(*needs.send).second) {
    new_sends_.push_back(local_channel(*needs.send));
  }
}

void PlanBlockWriter::end_lane() {
  if (!block_.ops.empty()) close_block();
}

void PlanBlockWriter::close_block() {
  std::vector<PlanOp> ops =
      in_groups("rlxsignal", new_recvs_, kPlanMaxChannelsPerOp, &PlanOp::channels);
  for (PlanOp& op : in_groups("rlxwait", new_sends_, kPlanMaxChannelsPerOp, &PlanOp::channels)) {
    ops.push_back(std::move(op));
  }
  if (opening_) {
    ops.push_back(named("sem_acquire"));
    ops.back().semaphores = {*opening_};
  }
  if (opening_ || !new_sends_.empty()) ops.push_back(named("nop"));
  std::move(block_.ops.begin(), block_.ops.end(), std::back_inserter(ops));
  block_.ops = std::move(ops);
  rank_.blocks.push_back(std::exchange(block_, {}));
  new_recvs_.clear();
  new_sends_.clear();
  opening_.reset();
  unmet_ = false;
}

uint32_t PlanBlockWriter::local_channel(Channel channel) {
  auto& list = block_.channels;
  const auto found = std::find(list.begin(), list.end(), channel);
  const auto index = static_cast<uint32_t>(found - list.begin());
  if (found == list.end()) list.push_back(channel);
  return index;
}

uint32_t PlanBlockWriter::local_buffer(RemoteBuffer buffer) {
  auto& known = rank_.remote_buffers;
  const auto at_rank = std::find(known.begin(), known.end(), buffer);
  const auto index = static_cast<uint32_t>(at_rank - known.begin());
  if (at_rank == known.end()) known.push_back(buffer);
  auto& list = block_.remote_buffers;
  const auto found = std::find(list.begin(), list.end(), index);
  const auto local = static_cast<uint32_t>(found - list.begin());
  if (found == list.end()) list.push_back(index);
  return local;
}

PlanRegion PlanBlockWriter::remote(Region region) {
  return {region, static_cast<int32_t>(local_buffer(*needs_.target))};
}

void PlanBlockWriter::copy(Region src, Region dst) {
  PlanOp op = named("copy");
  op.src = {{src}};
  op.dst = {{dst}};
  emit_data(std::move(op));
}

void PlanBlockWriter::reduce(Region a, Region b, Region dst, std::optional<Region> target) {
  PlanOp op = named(target ? "res" : "re");
  op.src = {{a}, {b}};
  op.dst = {{dst}};
  if (target) op.dst.push_back(remote(*target));
  if (target) op.channels = {local_channel(*needs_.send)};
  emit_data(std::move(op));
}

void PlanBlockWriter::put(Region src, Region target) {
  PlanOp op = named("put");
  op.src = {{src}};
  op.dst = {remote(target)};
  op.channels = {local_channel(*needs_.send)};
  emit_data(std::move(op));
}

void PlanBlockWriter::signal() {
  PlanOp op = named("signal");
  op.channels = {local_channel(*needs_.send)};
  emit_signal(std::move(op));
}

void PlanBlockWriter::wait() {
  PlanOp op = named("wait");
  op.channels = {local_channel(*needs_.recv)};
  emit_wait(std::move(op));
}

void PlanBlockWriter::acquire(const std::vector<uint32_t>& semaphores) {
  for (PlanOp& op :
       in_groups("sem_acquire", semaphores, kPlanMaxSemaphoresPerOp, &PlanOp::semaphores)) {
    emit_wait(std::move(op));
  }
}

void PlanBlockWriter::release(const std::vector<uint32_t>& semaphores) {
  for (PlanOp& op :
       in_groups("sem_release", semaphores, kPlanMaxSemaphoresPerOp, &PlanOp::semaphores)) {
    emit_signal(std::move(op));
  }
}

// Threads of a block run ahead of each other. A signal is one thread's, so the work of all must be
// done before it; a wait is one thread's too, so all must meet it before they go on.
void PlanBlockWriter::emit_data(PlanOp op) {
  if (std::exchange(unmet_, true)) block_.ops.push_back(named("nop"));
  block_.ops.push_back(std::move(op));
}

void PlanBlockWriter::emit_signal(PlanOp op) {
  if (std::exchange(unmet_, false)) block_.ops.push_back(named("nop"));
  block_.ops.push_back(std::move(op));
}

void PlanBlockWriter::emit_wait(PlanOp op) {
  block_.ops.push_back(std::move(op));
  unmet_ = true;
}

}  // namespace tutti::ir::msccl
