#include "tests/support/thread_device.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/clock.h"
#include "base/try.h"
#include "engine/cuda/fold.h"
#include "engine/cuda/near_programs.h"
#include "engine/cuda/run_leader.h"

namespace tutti::test {
namespace {

using engine::Fold;
using engine::cuda::DaemonState;

class ThreadMachine {
 public:
  explicit ThreadMachine(DaemonState& state) : state_(state) { programs_.clear(); }

  Fold& tile() { return tile_; }
  void fold() { engine::fold_elements(tile_, 0, 1); }
  static uint64_t now_ns() { return base::now_ns(); }
  static void pause() { std::this_thread::yield(); }
  // As a GPU does: what it has copied it does not look at again.
  const engine::cuda::DeviceProgram& near(const engine::cuda::Submission& issued) {
    const engine::cuda::DeviceProgram* const known = programs_.find(issued);
    return known != nullptr ? *known : programs_.fetch(issued, *this);
  }
  engine::cuda::LeaderTimes& times() { return times_; }
  engine::cuda::LeaderState& leader() { return state_.leader; }
  engine::cuda::Desk& desk() { return desk_; }
  engine::TaskQueue& queue() { return queue_; }
  static void copy(void* to, const void* from, uint64_t bytes) { std::memcpy(to, from, bytes); }
  static const uint64_t* near_record(const uint64_t* record, uint64_t /*bytes*/) { return record; }
  static void keep_leader() {}
  static void mark(engine::cuda::Stage /*stage*/) {}

  engine::cuda::Submission* next() {
    if (next_triggered(submission_)) return &submission_;
    return has_submission(submission_) ? &submission_ : nullptr;
  }

  // --- lanes: all in one ---

  engine::cuda::AtOnce run_at_once(const engine::cuda::Submission& issued,
                                   const engine::cuda::DeviceProgram& program, uint32_t stamp,
                                   uint64_t limit_ns) {
    at_once_ = {{}, &issued, &program, limit_ns, stamp, engine::cuda::AtOnce::kNo};
    return engine::cuda::AtOnceRun(state_, state_.leader, at_once_, tile_, *this).run();
  }
  template <class F>
  void each(uint32_t n, F f) {
    for (uint32_t i = 0; i < n; ++i) f(i);
  }
  template <class F>
  void first(F f) {
    f();
  }
  template <class F>
  uint32_t most(uint32_t n, F f) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < n; ++i) most = std::max(most, f(i));
    return most;
  }
  template <class F>
  bool agreed(F f) {
    return f();
  }
  template <class Load, class F, class Store>
  void load_beside(uint32_t n, Load load, F f, Store store) {
    for (uint32_t i = 0; i < n; ++i) store(i, load(i));
    f();
  }
  const engine::cuda::Hello* letter(uint32_t rank) { return read_letter(rank, letters_[rank]); }
  const engine::cuda::Hello& seen_letter(uint32_t rank) const { return letters_[rank]; }
  static void drop_letter(uint32_t /*rank*/) {}  // reading it has counted it
  [[nodiscard]] bool has_other_calls(const engine::cuda::StreamWords* stream) const {
    engine::cuda::Submission next;
    return has_submission(next) && (next.stream == nullptr || next.stream != stream);
  }
  static void move(const Fold& fold) { engine::fold_elements(fold, 0, 1); }
  static void sum(const Fold& fold) { engine::fold_elements(fold, 0, 1); }

  [[nodiscard]] bool has_more() const {
    const uint32_t number = state_.leader.num_submitted;
    const engine::cuda::Unit* const at =
        state_.submissions +
        uint64_t{number % engine::cuda::kSubmissions} * engine::cuda::kSubmissionUnits;
    return engine::cuda::load_unit(at).words[3] == number + 1;
  }
  static void keep_letter() {}  // it is where it was
  const engine::cuda::Hello* next_letter(uint32_t rank) { return read_letter(rank, letter_); }

  // At the end of a launch: the host is to launch again for what was triggered and not taken.
  void leave_triggered() const {
    const uint32_t num_prepared = engine::cuda::load_acquire(&state_.num_prepared);
    for (uint32_t i = 0; i < num_prepared; ++i) {
      if (engine::cuda::load_relaxed(&state_.prepared->arms[i]) == 0) continue;
      return engine::cuda::store_release_host(&state_.host->triggered, 1);
    }
  }

 private:
  bool has_submission(engine::cuda::Submission& submission) const {
    const uint32_t number = state_.leader.num_submitted;
    const engine::cuda::Unit* const at =
        state_.submissions +
        uint64_t{number % engine::cuda::kSubmissions} * engine::cuda::kSubmissionUnits;
    for (uint32_t i = 0; i < engine::cuda::kSubmissionUnits; ++i) {
      if (!engine::cuda::read_unit(at, i, number + 1, submission)) return false;
    }
    return true;
  }

  const engine::cuda::Hello* read_letter(uint32_t rank, engine::cuda::Hello& letter) const {
    const engine::cuda::Neighbour& from = state_.leader.neighbours[rank];
    const uint32_t stamp = from.num_read + 1;
    const engine::cuda::Unit* const at =
        from.mailbox_here +
        uint64_t{from.num_read % engine::cuda::kLetters} * engine::cuda::kHelloUnits;
    if (!engine::cuda::read_unit(at, 0, stamp, letter)) return nullptr;
    for (uint32_t i = 1; i < letter.num_units; ++i) {
      if (!engine::cuda::read_unit(at, i, stamp, letter)) return nullptr;
    }
    return &letter;
  }

  bool next_triggered(engine::cuda::Submission& submission) {
    const uint32_t num_prepared = engine::cuda::load_acquire(&state_.num_prepared);
    for (uint32_t i = 0; i < num_prepared; ++i) {
      uint32_t& arm = state_.prepared->arms[i];
      // Acquires what was done before the trigger.
      if (engine::cuda::load_relaxed(&arm) == 0 || engine::cuda::load_acquire(&arm) == 0) continue;
      engine::cuda::store_relaxed(&arm, 0);
      std::memcpy(&submission, &state_.prepared->operations[i].submission, sizeof submission);
      return true;
    }
    return false;
  }

  DaemonState& state_;
  engine::cuda::LeaderTimes times_{};
  Fold tile_{};
  engine::cuda::Submission submission_{};
  engine::cuda::AtOnceDesk at_once_{};
  std::vector<engine::cuda::Hello> letters_{engine::cuda::kMostRanks};
  engine::cuda::Hello letter_{};
  engine::cuda::NearPrograms programs_{};
  engine::cuda::Desk desk_{};
  engine::cuda::BlockQueue queue_;
};

void run_daemon(DaemonState& state, const engine::cuda::Launch& launch,
                ThreadDevice::Places& places) {
  if (launch.first_block == 0) {
    ThreadMachine machine(state);
    places.take();
    engine::cuda::run_leader(state, launch.number, machine);
    machine.leave_triggered();
    return places.give_back();
  }
  std::vector<std::thread> workers;
  for (uint32_t i = 0; i < launch.num_blocks; ++i) {
    workers.emplace_back([&state, &places, launch, i] {
      ThreadMachine machine(state);
      places.take();
      engine::cuda::run_worker(state, launch.number, launch.first_block + i, machine);
      places.give_back();
    });
  }
  for (std::thread& worker : workers) worker.join();
}

}  // namespace

void ThreadDevice::Places::limit(uint32_t num_places) {
  const std::lock_guard lock(mutex_);
  num_places_ = num_places;
}

void ThreadDevice::Places::take() {
  std::unique_lock lock(mutex_);
  // Liveness: blocks leave, sooner or later: that is what tests with few places are about.
  changed_.wait(lock, [this] { return num_taken_ < num_places_; });
  ++num_taken_;
}

void ThreadDevice::Places::give_back() {
  {
    const std::lock_guard lock(mutex_);
    --num_taken_;
  }
  changed_.notify_one();
}

struct ThreadDevice::Row {
  explicit Row(Places& device_places) : places(device_places), thread([this] { run(); }) {}
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
      const auto [state, launch] = launches.front();
      lock.unlock();
      run_daemon(*state, launch, places);
      lock.lock();
      launches.pop_front();
      ++num_ended;
      changed.notify_all();
    }
  }

  Places& places;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::pair<DaemonState*, engine::cuda::Launch>> launches;
  uint64_t num_ended = 0;
  bool is_over = false;
  std::thread thread;
};

namespace {

thread_local std::function<void()> g_on_memory;

constexpr uint64_t kMemoryAlign = 256;  // as memory of a GPU
constexpr uint64_t kSlabBytes = uint64_t{4} << 20;

// What a region's handle is.
struct FileOfProcess {
  pid_t process;
  int file;
};

// Negative: it is gone.
int open_file_of(const FileOfProcess& owner) {
  const auto path = fmt::format("/proc/{}/fd/{}", owner.process, owner.file);
  return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

std::byte* map_file(int file, uint64_t bytes) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  TUTTI_CHECK(at != MAP_FAILED, "tests need memory");
  return static_cast<std::byte*>(at);
}

}  // namespace

void ThreadDevice::on_memory_of_thread(std::function<void()> hook) {
  g_on_memory = std::move(hook);
}

ThreadDevice::ThreadDevice(Sharing sharing) : sharing_(sharing) {}
ThreadDevice::~ThreadDevice() {
  rows_.clear();
  for (const auto& [at, bytes] : mapped_) munmap(at, bytes);
  for (const Memory& memory : memory_) {
    if (memory.file < 0) continue;
    munmap(memory.base, memory.bytes);
    close(memory.file);
  }
}

// Each on its own, so that sanitizers see who writes beside it.
std::byte* ThreadDevice::allocate_heap(uint64_t bytes) {
  auto heap = std::make_unique<std::byte[]>(bytes + kMemoryAlign);
  std::byte* const at =
      heap.get() + kMemoryAlign - reinterpret_cast<uintptr_t>(heap.get()) % kMemoryAlign;
  memory_.push_back({std::move(heap), at, bytes, -1});
  return at;
}

std::byte* ThreadDevice::allocate_private(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  std::byte* const at = allocate_heap(bytes);
  // The slab stays the last one.
  if (memory_.size() > 1) std::swap(memory_.back(), memory_[memory_.size() - 2]);
  return at;
}

std::byte* ThreadDevice::allocate_file(uint64_t bytes) {
  const int file = memfd_create("tutti-test", MFD_CLOEXEC);
  TUTTI_CHECK(file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0, "tests need memory");
  memory_.push_back({nullptr, map_file(file, bytes), bytes, file});
  return memory_.back().base;
}

std::byte* ThreadDevice::allocate_apart(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  std::byte* const at = allocate_file(bytes);
  // The slab stays the last one.
  if (memory_.size() > 1) std::swap(memory_.back(), memory_[memory_.size() - 2]);
  return at;
}

Result<std::byte*> ThreadDevice::allocate(uint64_t bytes) {
  if (g_on_memory) g_on_memory();
  const std::lock_guard lock(mutex_);
  if (sharing_ == Sharing::kNone) return allocate_heap(bytes);
  bytes = (bytes + kMemoryAlign - 1) / kMemoryAlign * kMemoryAlign;
  const bool fits =
      !memory_.empty() && memory_.back().file >= 0 && memory_.back().bytes - slab_used_ >= bytes;
  if (!fits) {
    allocate_file(std::max(bytes, kSlabBytes));
    slab_used_ = 0;
  }
  slab_used_ += bytes;
  return memory_.back().base + slab_used_ - bytes;
}

// Words that daemons look at meanwhile are written as one.
Status ThreadDevice::write(std::byte* to, const void* from, uint64_t bytes) {
  const auto write_word = [&](auto word) {
    std::memcpy(&word, from, sizeof word);
    std::atomic_ref(*reinterpret_cast<decltype(word)*>(to)).store(word, std::memory_order_release);
  };
  if (bytes == sizeof(uint32_t)) {
    write_word(uint32_t{0});
  } else if (bytes == sizeof(uint64_t)) {
    write_word(uint64_t{0});
  } else {
    std::memcpy(to, from, bytes);
  }
  return {};
}

Status ThreadDevice::read(void* to, const std::byte* from, uint64_t bytes) {
  if (g_on_memory) g_on_memory();
  if (bytes == sizeof(uint32_t)) {
    const uint32_t word = engine::cuda::load_acquire(reinterpret_cast<const uint32_t*>(from));
    std::memcpy(to, &word, sizeof word);
    return {};
  }
  std::memcpy(to, from, bytes);
  return {};
}

Status ThreadDevice::clear(std::byte* at, uint64_t bytes) {
  std::memset(at, 0, bytes);
  return {};
}

Status ThreadDevice::health(uint32_t /*daemon*/) {
  if (!is_dead_) return {};
  return Error{ErrorCode::kIo, "an illegal memory access was encountered"};
}

Result<engine::cuda::Allocation> ThreadDevice::allocation_of(const void* at) {
  const std::lock_guard lock(mutex_);
  const auto* const byte = static_cast<const std::byte*>(at);
  for (const Memory& memory : memory_) {
    if (byte < memory.base || byte >= memory.base + memory.bytes) continue;
    return engine::cuda::Allocation{reinterpret_cast<uint64_t>(memory.base), memory.base,
                                    memory.bytes};
  }
  return Error{ErrorCode::kUnsupported, "is not memory of the GPU"};
}

Result<engine::cuda::SharedRegion> ThreadDevice::share(const engine::cuda::Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  for (const Memory& memory : memory_) {
    if (memory.base != allocation.base || memory.file < 0) continue;
    engine::cuda::SharedRegion region{};
    const FileOfProcess file{getpid(), memory.file};
    std::memcpy(region.handle, &file, sizeof file);
    region.base = reinterpret_cast<uint64_t>(memory.base);
    region.bytes = memory.bytes;
    return region;
  }
  return Error{ErrorCode::kUnsupported, "memory that is not shared"};
}

void ThreadDevice::let_maps_go() {
  holds_maps_ = false;
  holds_maps_.notify_all();
}

Result<std::byte*> ThreadDevice::map(const engine::cuda::SharedRegion& region) {
  // Liveness: the test lets go.
  holds_maps_.wait(true);
  if (!can_map_) return Error{ErrorCode::kIo, "no room to map it"};
  FileOfProcess owner{};
  std::memcpy(&owner, region.handle, sizeof owner);
  const int file = open_file_of(owner);
  if (file < 0) return Error{ErrorCode::kIo, "its process has ended"};
  std::byte* const at = map_file(file, region.bytes);
  close(file);
  const std::lock_guard lock(mutex_);
  mapped_.emplace_back(at, region.bytes);
  return at;
}

// Null: there is none.
ThreadStream* ThreadDevice::stream_of(engine::cuda::StreamHandle stream) const {
  if (stream == nullptr) return default_stream_.get();
  return stream == kOwnStream ? &ThreadStream::of_thread() : static_cast<ThreadStream*>(stream);
}

Status ThreadDevice::add(engine::cuda::StreamHandle stream, std::function<void()> task) {
  if (until_refusal_-- == 0) return Error{ErrorCode::kIo, "the stream takes nothing more"};
  ThreadStream& known = *stream_of(stream);
  if (known.recording() == nullptr && !known.is_settled()) {
    return Error{ErrorCode::kIo, "the stream was not settled"};
  }
  known.add(std::move(task));
  return {};
}

Status ThreadDevice::settle(engine::cuda::StreamHandle stream) {
  stream_of(stream)->settle();
  return {};
}

Status ThreadDevice::write_word(engine::cuda::StreamHandle stream, uint32_t* word, uint32_t value) {
  // Pairs with the acquire of the watch.
  return add(stream, [=] { engine::cuda::store_release(word, value); });
}

Status ThreadDevice::arm(engine::cuda::StreamHandle stream, engine::cuda::StreamWords* words,
                         uint32_t number, uint32_t gate) {
  return add(stream, [this, words, number, gate] {
    // Pairs with the acquire of the leader.
    engine::cuda::store_release(&words->armed, number);
    // Liveness: the operations end, at their deadline if not before, or the device does.
    while (!is_dead_ && engine::is_earlier(engine::cuda::load_acquire(&words->gate), gate)) {
      std::this_thread::yield();
    }
  });
}

Status ThreadDevice::copy(engine::cuda::StreamHandle stream, void* to, const void* from,
                          uint64_t bytes) {
  ++num_copies_;
  return add(stream, [=] { std::memcpy(to, from, bytes); });
}

Result<uint64_t> ThreadDevice::stream_id(engine::cuda::StreamHandle stream) {
  if (on_stream_check_) on_stream_check_();
  if (const ThreadStream* const known = stream_of(stream)) return known->id();
  return Error{ErrorCode::kInvalidArgument, "threads have no default stream"};
}

Result<bool> ThreadDevice::is_recording(engine::cuda::StreamHandle stream) {
  const ThreadStream* const known = stream_of(stream);
  return known != nullptr && known->recording() != nullptr;
}

Status ThreadDevice::record(engine::cuda::StreamHandle stream, std::span<const WordStep> steps) {
  for (const WordStep& step : steps) {
    TUTTI_TRY(add(stream, [this, step] {
      // Pairs with the acquires of the leader and of the host.
      if (step.kind == WordStep::Kind::kWrite) {
        return engine::cuda::store_release(step.word, step.value);
      }
      // Liveness: the operation ends, at its deadline if not before, or the device does.
      while (!is_dead_ && engine::cuda::load_acquire(step.word) != step.value) {
        std::this_thread::yield();
      }
    }));
  }
  return {};
}

Status ThreadDevice::keep_for(engine::cuda::StreamHandle stream, std::shared_ptr<void> what) {
  stream_of(stream)->recording()->kept.push_back(std::move(what));
  return {};
}

Status ThreadDevice::expect_daemon(uint32_t daemon) {
  const std::lock_guard lock(mutex_);
  while (rows_.size() < 2 * daemon + 2) rows_.push_back(std::make_unique<Row>(places_));
  return {};
}

ThreadDevice::Row& ThreadDevice::row_of(uint32_t index) {
  const std::lock_guard lock(mutex_);
  return *rows_.at(index);
}

Status ThreadDevice::launch(DaemonState* state, uint32_t daemon,
                            const engine::cuda::Launch& launch) {
  if (is_dead_ || (launch.first_block != 0 && !has_workers_)) return {};
  Row& row = row_of(2 * daemon + (launch.first_block == 0 ? 0 : 1));
  {
    const std::lock_guard lock(row.mutex);
    row.launches.emplace_back(state, launch);
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
