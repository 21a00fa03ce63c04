#include "tests/support/thread_device.h"

#include <condition_variable>
#include <cstring>
#include <deque>

#include "base/clock.h"
#include "engine/cuda/fold.h"
#include "engine/cuda/leader.h"

namespace tutti::test {
namespace {

using engine::Fold;
using engine::cuda::DaemonState;

class ThreadMachine {
 public:
  explicit ThreadMachine(DaemonState& state) : state_(state) {}

  Fold& tile() { return tile_; }
  void fold() { engine::fold_elements(tile_, 0, 1); }
  static uint64_t now_ns() { return base::now_ns(); }
  static void pause() { std::this_thread::yield(); }
  static const engine::cuda::DeviceProgram& near(const engine::cuda::DeviceProgram* program) {
    return *program;
  }
  engine::cuda::LeaderState& leader() { return state_.leader; }
  engine::cuda::Desk& desk() { return desk_; }
  engine::TaskQueue& queue() { return queue_; }
  static void copy(void* to, const void* from, uint64_t bytes) { std::memcpy(to, from, bytes); }
  static void keep_leader() {}
  static void mark(engine::cuda::Stage /*stage*/) {}

  bool next(engine::cuda::Submission& submission) {
    const uint32_t number = state_.leader.num_submitted;
    const engine::cuda::Unit* const at =
        state_.submissions +
        uint64_t{number % engine::cuda::kSubmissions} * engine::cuda::kSubmissionUnits;
    for (uint32_t i = 0; i < engine::cuda::kSubmissionUnits; ++i) {
      if (!engine::cuda::read_unit(at, i, number + 1, submission)) return false;
    }
    return true;
  }

  static void keep_letter() {}  // it is where it was
  const engine::cuda::Hello* next_letter(uint32_t rank) {
    const engine::cuda::Neighbour& from = state_.leader.neighbours[rank];
    const uint32_t stamp = from.num_read + 1;
    const engine::cuda::Unit* const at =
        from.mailbox_here +
        uint64_t{from.num_read % engine::cuda::kLetters} * engine::cuda::kHelloUnits;
    if (!engine::cuda::read_unit(at, 0, stamp, letter_)) return nullptr;
    for (uint32_t i = 1; i < letter_.num_units; ++i) {
      if (!engine::cuda::read_unit(at, i, stamp, letter_)) return nullptr;
    }
    return &letter_;
  }

 private:
  DaemonState& state_;
  Fold tile_{};
  engine::cuda::Hello letter_{};
  engine::cuda::Desk desk_{};
  engine::cuda::BlockQueue queue_;
};

void run_daemon(DaemonState& state, uint32_t num_blocks, uint32_t launch) {
  std::vector<std::thread> workers;
  for (uint32_t i = 1; i < num_blocks; ++i) {
    workers.emplace_back([&state, launch, i] {
      ThreadMachine machine(state);
      engine::cuda::run_worker(state, launch, i, machine);
    });
  }
  ThreadMachine machine(state);
  engine::cuda::run_leader(state, launch, machine);
  for (std::thread& worker : workers) worker.join();
}

}  // namespace

struct ThreadDevice::Row {
  Row() : thread([this] { run(); }) {}
  ~Row() {
    {
      const std::lock_guard lock(mutex);
      is_over = true;
    }
    changed.notify_all();
    thread.join();
  }

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      // Liveness: launches are announced, and so is the end.
      changed.wait(lock, [this] { return is_over || !launches.empty(); });
      if (launches.empty()) return;
      const Launch next = launches.front();
      lock.unlock();
      run_daemon(*next.state, next.num_blocks, next.number);
      lock.lock();
      launches.pop_front();
      ++num_ended;
      changed.notify_all();
    }
  }

  struct Launch {
    DaemonState* state;
    uint32_t num_blocks;
    uint32_t number;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Launch> launches;
  uint64_t num_ended = 0;
  bool is_over = false;
  std::thread thread;
};

ThreadDevice::ThreadDevice() = default;
ThreadDevice::~ThreadDevice() = default;

Result<std::byte*> ThreadDevice::allocate(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  // Aligned as memory of a GPU is.
  auto memory = std::make_unique<std::byte[]>(bytes + 256);
  std::byte* const at = memory.get() + 256 - reinterpret_cast<uintptr_t>(memory.get()) % 256;
  memory_.push_back(std::move(memory));
  return at;
}

Status ThreadDevice::write(std::byte* to, const void* from, uint64_t bytes) {
  std::memcpy(to, from, bytes);
  return {};
}

ThreadDevice::Row& ThreadDevice::row_of(uint32_t rank) {
  const std::lock_guard lock(mutex_);
  while (rows_.size() <= rank) rows_.push_back(std::make_unique<Row>());
  return *rows_[rank];
}

Status ThreadDevice::launch(DaemonState* state, uint32_t rank, uint32_t num_blocks,
                            uint32_t number) {
  Row& row = row_of(rank);
  {
    const std::lock_guard lock(row.mutex);
    row.launches.push_back({state, num_blocks, number});
  }
  row.changed.notify_all();
  return {};
}

void ThreadDevice::synchronize() {
  std::vector<Row*> rows;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& row : rows_) rows.push_back(row.get());
  }
  for (Row* row : rows) {
    std::unique_lock lock(row->mutex);
    const uint64_t until = row->num_ended + row->launches.size();
    // Liveness: every launch ends by itself.
    row->changed.wait(lock, [&] { return row->num_ended >= until; });
  }
}

}  // namespace tutti::test
