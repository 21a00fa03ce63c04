// Everything that tutti/device.h declares, with host memory for the GPU's and threads for streams:
// each enqueued group runs as operations of the CPU engine, when its stream comes to it.
#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/try.h"
#include "comm/call_check.h"
#include "tests/support/host_device/host_stream.h"
#include "tutti/device.h"

namespace tutti {
namespace comm {

// As the real one, it lives on while something of an aborted communicator is in streams.
class DeviceGroup : public std::enable_shared_from_this<DeviceGroup> {
 public:
  DeviceGroup(Communicator host, Communicator calls, int device)
      : host_(std::move(host)), calls_(std::move(calls)), device_(device) {}
  ~DeviceGroup() = default;
  DeviceGroup(const DeviceGroup&) = delete;
  DeviceGroup& operator=(const DeviceGroup&) = delete;

  [[nodiscard]] const Communicator& host() const { return host_; }
  [[nodiscard]] int device() const { return device_; }

  Status enqueue(std::span<const Call> calls, DeviceStream stream) {
    for (const Call& call : calls) {
      TUTTI_CHECK(call.counts.empty(), "no test has uneven calls on a device");
      TUTTI_TRY(check_call(call, host_.num_ranks(), Rank{host_.rank()}));
    }
    std::vector<Call> numbered(calls.begin(), calls.end());
    {
      const std::lock_guard lock(mutex_);
      if (is_aborted_) return Error{ErrorCode::kAborted, "the communicator was aborted"};
      for (Call& call : numbered) number(call);
      ++num_left_;
    }
    HostStream& order = stream == nullptr ? *own_stream_ : *stream;
    order.post(
        [self = shared_from_this(), numbered = std::move(numbered)] { self->run(numbered); });
    return {};
  }

  Status status() {
    const std::lock_guard lock(mutex_);
    return first_;
  }

  bool is_idle() {
    const std::lock_guard lock(mutex_);
    return num_left_ == 0;
  }

  Status finish() {
    std::unique_lock lock(mutex_);
    // Liveness: operations end when their peers come, and at their deadline.
    over_.wait(lock, [this] { return num_left_ == 0; });
    return first_;
  }

  // Ends the other members' operations too, which no test may rely on.
  void abort() {
    {
      const std::lock_guard lock(mutex_);
      is_aborted_ = true;
    }
    calls_.abort();
  }

  // The last copy has gone.
  void let_go() {
    std::unique_lock lock(mutex_);
    // Liveness: operations end when their peers come, and at their deadline.
    if (!is_aborted_) over_.wait(lock, [this] { return num_left_ == 0; });
    lock.unlock();
    own_stream_.reset();  // not by itself
  }

 private:
  using HostStream = test::HostStream;

  // Calls without a name are matched by the order in which they were enqueued, not by that in which
  // streams come to them.
  void number(Call& call) {
    if (!call.options.name.empty() || call.options.tag != 0) return;
    const bool is_message = call.kind == CollectiveKind::kSendRecv;
    call.options.name = is_message ? "message" : "collective";
    call.options.tag =
        is_message ? ++num_messages_[{call.peer, call.receives}] : ++num_collectives_;
  }

  void run(const std::vector<Call>& calls) {
    Work all;
    for (const Call& call : calls) all += calls_.submit(call);
    // Liveness: operations end when their peers come, and at their deadline.
    Status status = all.wait();
    const std::lock_guard lock(mutex_);
    if (first_.ok()) first_ = std::move(status);
    --num_left_;
    over_.notify_all();
  }

  Communicator host_;
  Communicator calls_;
  int device_;
  std::mutex mutex_;  // guards what follows, up to the stream
  std::condition_variable over_;
  uint64_t num_left_ = 0;  // enqueued groups that are not over
  uint64_t num_collectives_ = 0;
  std::map<std::pair<uint32_t, bool>, uint64_t> num_messages_;
  bool is_aborted_ = false;
  Status first_;
  std::unique_ptr<HostStream> own_stream_ =
      std::make_unique<HostStream>();  // what the null stream is on this device
};

}  // namespace comm

namespace {

thread_local int g_current_device = 0;
std::mutex g_memory_mutex;
std::map<void*, int> g_memory;  // and the device of each

}  // namespace

Result<DeviceCommunicator> DeviceCommunicator::create(const Communicator& comm, int device) {
  Communicator host = comm;
  TUTTI_ASSIGN(Communicator calls, host.duplicate());
  // Ranks on GPUs open each other's memory here: it takes all of them.
  // Liveness: all ranks call it, or the deadline passes.
  TUTTI_TRY(calls.barrier().wait());
  return DeviceCommunicator(
      std::make_shared<comm::DeviceGroup>(std::move(host), std::move(calls), device));
}

DeviceCommunicator::DeviceCommunicator(std::shared_ptr<comm::DeviceGroup> group)
    : group_(group.get(), [kept = group](auto* /*same*/) mutable {
        kept->let_go();
        kept.reset();
      }) {}

uint32_t DeviceCommunicator::rank() const { return host().rank(); }
uint32_t DeviceCommunicator::num_ranks() const { return host().num_ranks(); }
int DeviceCommunicator::device() const { return group_->device(); }
const Communicator& DeviceCommunicator::host() const { return group_->host(); }

Status DeviceCommunicator::enqueue(std::span<const Call> calls, DeviceStream stream) {
  return group_->enqueue(calls, stream);
}
Status DeviceCommunicator::status() const { return group_->status(); }
bool DeviceCommunicator::is_idle() const { return group_->is_idle(); }
Status DeviceCommunicator::finish() { return group_->finish(); }
void DeviceCommunicator::abort() { group_->abort(); }

Result<int> current_device() {
  if (g_current_device < 0) return Error{ErrorCode::kNotFound, "there is no device here"};
  return g_current_device;
}

Result<void*> allocate_on_device(uint64_t bytes) {
  return allocate_on_device(bytes, g_current_device);
}

Result<void*> allocate_on_device(uint64_t bytes, int device) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) return Error{ErrorCode::kOutOfMemory, "the device is full"};
  const std::lock_guard lock(g_memory_mutex);
  g_memory.emplace(memory, device);
  return memory;
}

Status free_on_device(void* memory) {
  {
    const std::lock_guard lock(g_memory_mutex);
    if (g_memory.erase(memory) == 0) {
      return Error{ErrorCode::kInvalidArgument, "this memory is not of allocate_on_device"};
    }
  }
  std::free(memory);
  return {};
}

namespace test {

void set_current_device(int device) { g_current_device = device; }

uint64_t num_device_allocations() {
  const std::lock_guard lock(g_memory_mutex);
  return g_memory.size();
}

uint64_t num_allocations_on(int device) {
  const std::lock_guard lock(g_memory_mutex);
  const auto is_there = [&](const auto& one) { return one.second == device; };
  return static_cast<uint64_t>(std::count_if(g_memory.begin(), g_memory.end(), is_there));
}

}  // namespace test
}  // namespace tutti
