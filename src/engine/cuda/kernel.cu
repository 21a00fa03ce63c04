// A block of the daemon: one thread decides (leader.h, block.h), most others move bytes when it
// says so. In the first block one warp reads what the host submits, so that nobody else waits for
// the bus, one looks at the words of what may be triggered, some read the letters of other ranks,
// and one does small operations at once. They meet in shared memory.
#include <new>

#include "engine/cuda/fold.cuh"
#include "engine/cuda/kernel.h"
#include "engine/cuda/near_programs.h"
#include "engine/cuda/ptx.cuh"
#include "engine/cuda/run_leader.h"

namespace tutti::engine::cuda {
namespace {

// Threads of a block that move bytes. The thread that decides needs registers, and all have equally
// many: for older GPUs the compiler needs more of them, and keeps what single warps do apart.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr uint32_t kMovers = 320;
#define TUTTI_APART __noinline__
#else
constexpr uint32_t kMovers = 448;
#define TUTTI_APART
#endif
constexpr uint32_t kThreads = 32 + kMovers + 32;

constexpr uint32_t kInbox = 8;  // submissions read and not taken yet
// So little is moved before the movers have heard of it.
constexpr uint64_t kAloneBytes = 32;
// Half warps of the leader's block that read letters, one from each sender at a time.
constexpr uint32_t kReaders = 8;
constexpr uint32_t kReaderThreads = kReaders * 16;
constexpr uint32_t kTriggerThreads = 32;
constexpr uint32_t kLanes = 32;  // of the leader's block that do small operations at once
static_assert(kHelloUnits <= 16);
// Between one thread that puts and one that takes: how often each has.
struct Turnstile {
  uint32_t num_put;
  uint32_t num_taken;
};

struct LeaderShared {
  LeaderState state;
  LeaderTimes times;
  Stages stages;
  uint64_t last_mark;
  Turnstile submissions;
  uint32_t is_inbox_taken;  // by one of the two warps that put into it
  alignas(8) uint32_t inbox[kInbox][sizeof(Submission) / 4];
  Turnstile mail[kMostRanks];
  alignas(8) uint32_t letters[kMostRanks][sizeof(Hello) / 4];
  Turnstile at_once_gate;
  AtOnceDesk at_once;
};

struct Shared {
  Fold tile;
  uint64_t go;      // barriers: the tile is filled,
  uint64_t done;    // and moved
  uint32_t parity;  // of the next move
  uint32_t is_over;
  uint32_t has_near_sources;
  alignas(16) uint64_t record[kMostRecordWords];
  NearPrograms programs;
  Desk desk;
  BlockQueue queue;
  LeaderShared leader;
};

__device__ inline uint32_t look(const uint32_t& word) {
  return *static_cast<const volatile uint32_t*>(&word);
}
__device__ inline void put(uint32_t& word, uint32_t value) {
  __threadfence_block();
  *static_cast<volatile uint32_t*>(&word) = value;
}

// By one thread: what the movers do.
__device__ inline void move_tile(Shared& shared) {
  const uint32_t parity = shared.parity;
  ptx::barrier_arrive(&shared.go);
  // Liveness: movers do nothing else.
  while (!ptx::barrier_is_over(&shared.done, parity)) {
  }
  shared.parity = parity ^ 1;
}

// What the thread that decides has at hand.
class BlockMachine {
 public:
  __device__ explicit BlockMachine(Shared& shared) : shared_(shared) {}

  __device__ Fold& tile() { return shared_.tile; }
  __device__ void fold() {
    if (shared_.tile.bytes <= kAloneBytes) return fold_elements(shared_.tile, 0, 1);
    move_from_anywhere();
  }
  __device__ static uint64_t now_ns() { return ptx::global_timer_ns(); }
  __device__ static void mark(Stage /*stage*/) {}
  // Waiting for work, leave the memory to others.
  __device__ static void pause() { __nanosleep(20); }

  __device__ Desk& desk() { return shared_.desk; }
  __device__ TaskQueue& queue() { return shared_.queue; }

  __device__ void copy(void* to, const void* from, uint64_t bytes) {
    Fold& tile = shared_.tile;
    tile.sources[0] = static_cast<const std::byte*>(from);
    tile.dsts[0] = static_cast<std::byte*>(to);
    tile.num_sources = tile.num_dsts = 1;
    tile.bytes = bytes;
    tile.type = static_cast<uint8_t>(DataType::kUint64);
    tile.divisor = tile.is_scaled = 0;
    move_from_anywhere();
  }

  __device__ const uint64_t* near_record(const uint64_t* record, uint64_t bytes) {
    copy(shared_.record, record, bytes);
    return shared_.record;
  }
  __device__ const DeviceProgram& near(const Submission& issued) {
    if (const DeviceProgram* const known = shared_.programs.find(issued)) return *known;
    // Acquires what the host wrote before it submitted the operation: what this processor has in
    // its cache may be of a program that was there before.
    ptx::fence_system();
    return shared_.programs.fetch(issued, *this);
  }

 protected:
  // Small input lies on the desk, where the fast loads of folds do not reach.
  __device__ void move_from_anywhere() {
    const Fold& tile = shared_.tile;
    shared_.has_near_sources =
        __isShared(tile.sources[0]) || __isShared(tile.sources[tile.num_sources - 1]);
    move_tile(shared_);
  }

  Shared& shared_;
};

// By the first lane of the leader's warp.
__device__ inline void mark_stage([[maybe_unused]] LeaderShared& leader,
                                  [[maybe_unused]] Stage stage) {
#if defined(TUTTI_DAEMON_STAGES)
  const auto now = static_cast<uint64_t>(clock64());
  Stages& stages = leader.stages;
  stages.cycles[static_cast<uint32_t>(stage)] += now - leader.last_mark;
  ++stages.times[static_cast<uint32_t>(stage)];
  leader.last_mark = now;
#endif
}

// A warp of the leader's block that does what the thread that decides would do alone.
class WarpLanes {
 public:
  __device__ explicit WarpLanes(Shared& shared) : shared_(shared), lane_(threadIdx.x % 32) {}

  template <class F>
  __device__ void each(uint32_t n, F f) {
    for (uint32_t i = lane_; i < n; i += 32) f(i);
    __syncwarp();
  }
  template <class F>
  __device__ void first(F f) {
    if (lane_ == 0) f();
    __syncwarp();
  }
  template <class F>
  __device__ uint32_t most(uint32_t n, F f) {
    uint32_t most = 0;
    for (uint32_t i = lane_; i < n; i += 32) most = max(most, f(i));
    return __reduce_max_sync(UINT32_MAX, most);
  }
  template <class F>
  __device__ bool agreed(F f) {
    return __any_sync(UINT32_MAX, lane_ == 0 && f()) != 0;
  }
  template <class Load, class F, class Store>
  __device__ void load_beside(uint32_t n, Load load, F f, Store store) {
    const uint32_t word = lane_ < n ? load(lane_) : 0;
    if (lane_ == 0) f();
    if (lane_ < n) store(lane_, word);
    __syncwarp();
  }

  __device__ const Hello* letter(uint32_t rank) const {
    const Turnstile& gate = shared_.leader.mail[rank];
    if (look(gate.num_put) == look(gate.num_taken)) return nullptr;
    __threadfence_block();
    return reinterpret_cast<const Hello*>(shared_.leader.letters[rank]);
  }
  __device__ const Hello& seen_letter(uint32_t rank) const {
    return *reinterpret_cast<const Hello*>(shared_.leader.letters[rank]);
  }
  __device__ void drop_letter(uint32_t rank) {
    Turnstile& gate = shared_.leader.mail[rank];
    put(gate.num_taken, gate.num_taken + 1);
  }
  // The one that is being run is one of those that were not taken.
  __device__ bool has_other_calls(const StreamWords* stream) const {
    const LeaderShared& leader = shared_.leader;
    const uint32_t num_put = look(leader.submissions.num_put);
    __threadfence_block();
    for (uint32_t i = look(leader.submissions.num_taken) + 1; is_earlier(i, num_put); ++i) {
      const auto& call = *reinterpret_cast<const Submission*>(leader.inbox[i % kInbox]);
      if (call.stream == nullptr || call.stream != stream) return true;
    }
    return false;
  }
  // By the processor's clock, of about 2 GHz: the timer takes long to read.
  __device__ static uint64_t now_ns() { return static_cast<uint64_t>(clock64()) / 2; }
  __device__ static void pause() {}
  __device__ void sum(const Fold& fold) const {
    fold_elements(fold, lane_, 32);
    __syncwarp();
  }
  // By the movers, who wait for the thread that decides, which waits for the lanes.
  __device__ void move(const Fold& /*tile*/) {
    if (lane_ == 0) {
      shared_.has_near_sources = 0;
      move_tile(shared_);
    }
    __syncwarp();
  }
  __device__ void mark(Stage stage) {
    if (lane_ == 0) mark_stage(shared_.leader, stage);
  }

 private:
  Shared& shared_;
  uint32_t lane_;
};

__device__ TUTTI_APART void run_lanes(DaemonState& state, Shared& shared) {
  const bool is_first = threadIdx.x % 32 == 0;
  AtOnceDesk& desk = shared.leader.at_once;
  Turnstile& gate = shared.leader.at_once_gate;
  // Liveness: ends with the leader, which says so.
  for (uint32_t num_taken = 0;;) {
    // What the first lane sees goes for all.
    const bool is_over = is_first && look(shared.is_over) != 0;
    const bool is_asked = is_first && look(gate.num_put) != num_taken;
    if (__any_sync(UINT32_MAX, is_over) != 0) return;
    if (__any_sync(UINT32_MAX, is_asked) == 0) continue;
    __threadfence_block();
    WarpLanes lanes(shared);
    AtOnceRun run(state, shared.leader.state, desk, shared.tile, lanes);
    const AtOnce outcome = run.run();
    ++num_taken;
    if (!is_first) continue;
    desk.outcome = outcome;
    put(gate.num_taken, num_taken);
  }
}

class LeaderMachine : public BlockMachine {
 public:
  __device__ LeaderMachine(DaemonState& state, Shared& shared)
      : BlockMachine(shared), state_(state) {}

  __device__ static void pause() {}
  __device__ void mark(Stage stage) { mark_stage(shared_.leader, stage); }
  __device__ LeaderTimes& times() { return shared_.leader.times; }
  __device__ LeaderState& leader() { return shared_.leader.state; }
  __device__ void keep_leader() {
    copy_words(&state_.leader, &shared_.leader.state, sizeof(LeaderState));
    copy_words(&state_.stages, &shared_.leader.stages, sizeof(Stages));
  }

  // Gives back the one before.
  __device__ Submission* next() {
    Turnstile& gate = shared_.leader.submissions;
    if (holds_call_) put(gate.num_taken, gate.num_taken + 1);
    holds_call_ = look(gate.num_put) != gate.num_taken;
    if (!holds_call_) return nullptr;
    __threadfence_block();
    return reinterpret_cast<Submission*>(shared_.leader.inbox[gate.num_taken % kInbox]);
  }

  __device__ AtOnce run_at_once(const Submission& issued, const DeviceProgram& program,
                                uint32_t stamp, uint64_t limit_ns) {
    AtOnceDesk& desk = shared_.leader.at_once;
    desk.issued = &issued;
    desk.program = &program;
    desk.limit_ns = limit_ns;
    desk.stamp = stamp;
    Turnstile& gate = shared_.leader.at_once_gate;
    const uint32_t number = gate.num_put + 1;
    put(gate.num_put, number);
    // Liveness: the lanes do nothing else, and wait a bounded time.
    while (look(gate.num_taken) != number) {
    }
    __threadfence_block();
    return desk.outcome;
  }

  // Whether something was submitted that `next` has not given. Between two looks at it.
  __device__ bool has_more() {
    const Turnstile& gate = shared_.leader.submissions;
    const uint32_t num_put = look(gate.num_put);
    if (num_put != gate.num_taken) return true;
    const uint32_t number = shared_.leader.state.num_submitted;
    const Unit* const at = state_.submissions + uint64_t{number % kSubmissions} * kSubmissionUnits;
    return load_unit(at).words[3] == number + 1;
  }
  // The letter that was looked at last is the next one again.
  __device__ void keep_letter() { holds_ = kMostRanks; }
  __device__ const Hello* next_letter(uint32_t rank) {
    Turnstile& gate = shared_.leader.mail[rank];
    if (holds_ == rank) {
      put(gate.num_taken, gate.num_taken + 1);
      holds_ = kMostRanks;
    }
    if (look(gate.num_put) == gate.num_taken) return nullptr;
    __threadfence_block();
    holds_ = rank;
    return reinterpret_cast<const Hello*>(shared_.leader.letters[rank]);
  }

 private:
  DaemonState& state_;
  uint32_t holds_ = kMostRanks;  // whose letter is being read
  bool holds_call_ = false;
};

__device__ void move_tiles(Shared& shared, uint32_t mover, uint32_t num_movers) {
  for (uint32_t parity = 0;; parity ^= 1) {
    // Liveness: the thread that decides says go, or that it is over.
    while (!ptx::barrier_is_over(&shared.go, parity)) {
    }
    if (look(shared.is_over) != 0) return;
    if (look(shared.has_near_sources) != 0) {
      fold_elements(shared.tile, mover, num_movers);
    } else {
      fold_by_threads(shared.tile, mover, num_movers);
    }
    __syncwarp();
    if (mover % 32 == 0) ptx::barrier_arrive(&shared.done);
  }
}

// The inbox, for the calling warp alone. False: the other one has it, or it is full.
__device__ bool open_inbox(LeaderShared& leader, uint32_t lane) {
  uint32_t is_open = 0;
  if (lane == 0 && atomicExch(&leader.is_inbox_taken, 1) == 0) {
    __threadfence_block();
    is_open = look(leader.submissions.num_put) - look(leader.submissions.num_taken) < kInbox;
    if (is_open == 0) put(leader.is_inbox_taken, 0);
  }
  return __shfl_sync(UINT32_MAX, is_open, 0) != 0;
}
// With one submission more.
__device__ void close_inbox(LeaderShared& leader, uint32_t lane) {
  __syncwarp();
  if (lane == 0) {
    put(leader.submissions.num_put, leader.submissions.num_put + 1);
    put(leader.is_inbox_taken, 0);
  }
  __syncwarp();
}
__device__ uint32_t* next_in_inbox(LeaderShared& leader) {
  return leader.inbox[look(leader.submissions.num_put) % kInbox];
}

// A warp, one unit a lane: a submission is read at once, or not at all.
__device__ void read_submissions(const DaemonState& state, Shared& shared) {
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t first = state.leader.num_submitted;
  const bool has_unit = lane < kSubmissionUnits;
  Turnstile& gate = shared.leader.submissions;
  // Liveness: ends with the leader, which says so.
  for (uint32_t i = 0; look(shared.is_over) == 0;) {
    if (look(gate.num_put) - look(gate.num_taken) >= kInbox) continue;
    const uint32_t stamp = first + i + 1;
    Unit unit{{0, 0, 0, stamp}};
    if (has_unit) {
      const uint64_t slot = (first + i) % kSubmissions;
      unit = load_unit(state.submissions + slot * kSubmissionUnits + lane);
    }
    if (__all_sync(UINT32_MAX, unit.words[3] == stamp) == 0) continue;
    if (!open_inbox(shared.leader, lane)) continue;
    uint32_t* const to = next_in_inbox(shared.leader);
    if (has_unit) {
      for (uint32_t w = 0; w < 3; ++w) to[3 * lane + w] = unit.words[w];
    }
    close_inbox(shared.leader, lane);
    ++i;
  }
}

// A warp. What was triggered goes the way of what is submitted.
__device__ void take_trigger(PreparedTable& table, Shared& shared, uint32_t index) {
  const uint32_t lane = threadIdx.x % 32;
  // Liveness: the other warp has it for some words, and the leader empties it; or says that it is
  // over, and the next launch looks at the arm word.
  while (!open_inbox(shared.leader, lane)) {
    if (__any_sync(UINT32_MAX, look(shared.is_over) != 0) != 0) return;
  }
  // With the look that saw the word, acquires what was done before the trigger.
  ptx::fence();
  // Before the leader hears of it: when it is over it may be triggered again.
  if (lane == 0) store_relaxed(&table.arms[index], 0);
  uint32_t* const to = next_in_inbox(shared.leader);
  const auto* const from = reinterpret_cast<const uint32_t*>(&table.operations[index].submission);
  for (uint32_t w = lane; w < sizeof(Submission) / 4; w += 32) to[w] = load_relaxed(from + w);
  close_inbox(shared.leader, lane);
}

// A warp, four words a lane. Whether anything is armed; `take` is called for each.
template <class Take>
__device__ bool look_at_arms(const DaemonState& state, PreparedTable*& table, Take take) {
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t num_prepared = __shfl_sync(UINT32_MAX, load_relaxed(&state.num_prepared), 0);
  if (num_prepared == 0) return false;
  // Written before the number, and for good.
  const uint64_t at = load_relaxed(reinterpret_cast<const uint64_t*>(&state.prepared));
  table = reinterpret_cast<PreparedTable*>(__shfl_sync(UINT32_MAX, at, 0));
  if (table == nullptr) return false;
  bool is_armed = false;
  for (uint32_t first = 0; first < num_prepared; first += 128) {
    const Unit unit = load_unit(reinterpret_cast<const Unit*>(table->arms + first) + lane);
    for (uint32_t w = 0; w < 4; ++w) {
      uint32_t lanes = __ballot_sync(UINT32_MAX, unit.words[w] != 0);
      is_armed = is_armed || lanes != 0;
      for (; lanes != 0; lanes &= lanes - 1) {
        take(first + 4 * (static_cast<uint32_t>(__ffs(static_cast<int>(lanes))) - 1) + w);
      }
    }
  }
  return is_armed;
}

__device__ TUTTI_APART void read_triggers(const DaemonState& state, Shared& shared) {
  LeaderShared& leader = shared.leader;
  PreparedTable* table = nullptr;
  // Liveness: ends with the leader, which says so.
  while (__any_sync(UINT32_MAX, look(shared.is_over) != 0) == 0) {
    look_at_arms(state, table, [&](uint32_t i) { take_trigger(*table, shared, i); });
    if (table == nullptr) __nanosleep(1000);
  }
  // What the leader has not taken is triggered again, and the host launches again for it.
  if (threadIdx.x % 32 == 0) {
    for (uint32_t i = look(leader.submissions.num_taken); i != look(leader.submissions.num_put);
         ++i) {
      const auto& left = *reinterpret_cast<const Submission*>(leader.inbox[i % kInbox]);
      if (left.prepared == nullptr) continue;
      store_relaxed(&table->arms[left.prepared - table->operations], 1);
    }
    __threadfence();
  }
  __syncwarp();
  const bool is_armed = look_at_arms(state, table, [](uint32_t /*index*/) {});
  if (is_armed && threadIdx.x % 32 == 0) store_release_host(&state.host->triggered, 1);
}

// Half a warp, one unit a lane: the next letter of a sender. Both halves take part in every vote.
__device__ void read_letter(const DaemonState& state, Shared& shared, uint32_t rank) {
  const uint32_t lane = threadIdx.x % 16;
  const bool is_used = rank < state.num_ranks && rank != state.self;
  Turnstile* const gate = is_used ? &shared.leader.mail[rank] : nullptr;
  const bool is_free = is_used && look(gate->num_put) == look(gate->num_taken);
  Unit unit{};
  uint32_t stamp = 1;
  if (is_free) {
    const uint32_t number = state.leader.neighbours[rank].num_read + gate->num_put;
    stamp = number + 1;
    const Unit* const letter =
        state.leader.neighbours[rank].mailbox_here + uint64_t{number % kLetters} * kHelloUnits;
    if (lane < kHelloUnits) unit = load_unit(letter + lane);
  }
  const uint32_t shift = threadIdx.x % 32 / 16 * 16;
  const uint32_t there = __ballot_sync(UINT32_MAX, is_free && unit.words[3] == stamp) >> shift;
  const uint32_t num_units = __shfl_sync(UINT32_MAX, unit.words[0], static_cast<int>(shift));
  const bool is_first = is_free && (there & 1) != 0;
  const uint32_t needed = is_first && num_units < 16 ? (1U << num_units) - 1 : 0xffffU;
  const bool is_whole = is_first && (there & needed) == needed;
  if (is_whole && lane < num_units) {
    for (uint32_t w = 0; w < 3; ++w) shared.leader.letters[rank][3 * lane + w] = unit.words[w];
  }
  __syncwarp();
  if (is_whole && lane == 0) put(gate->num_put, gate->num_put + 1);
  __syncwarp();
}

__device__ void read_letters(const DaemonState& state, Shared& shared, uint32_t reader) {
  // Liveness: ends with the leader, which says so.
  while (look(shared.is_over) == 0) {
    for (uint32_t first = 0; first < state.num_ranks; first += kReaders) {
      read_letter(state, shared, first + reader);
    }
  }
}

// All threads, before the first one is let go.
__device__ void prepare(const DaemonState& state, Shared& shared, uint32_t num_movers, bool leads) {
  if (threadIdx.x == 0) {
    ptx::barrier_init(&shared.go, 1);
    ptx::barrier_init(&shared.done, num_movers / 32);
    shared.is_over = shared.has_near_sources = shared.parity = 0;
    shared.programs.clear();
    shared.desk.clear();
    new (&shared.queue) BlockQueue;
    if (leads) shared.leader.submissions = shared.leader.at_once_gate = {0, 0};
    if (leads) shared.leader.is_inbox_taken = 0;
  }
  for (uint32_t i = threadIdx.x; leads && i < kMostRanks; i += kThreads) {
    shared.leader.mail[i] = {0, 0};
  }
  if (leads) {
    copy_words(&shared.leader.state, &state.leader, sizeof(LeaderState), threadIdx.x, kThreads);
    copy_words(&shared.leader.stages, &state.stages, sizeof(Stages), threadIdx.x, kThreads);
  }
  __syncthreads();
}

__device__ void decide(DaemonState& state, const Launch& launch, Shared& shared) {
  const uint32_t index = launch.first_block + blockIdx.x;
  if (index == 0) {
    LeaderMachine machine(state, shared);
    run_leader(state, launch.number, machine);
  } else {
    BlockMachine machine(shared);
    run_worker(state, launch.number, index, machine);
  }
  put(shared.is_over, 1);
  ptx::barrier_arrive(&shared.go);
}

__global__ void __launch_bounds__(kThreads, 1) run_daemon(DaemonState* state, Launch launch) {
  if (state == nullptr) return;  // it is being loaded, or a stream is settled
  extern __shared__ __align__(16) std::byte memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  const bool leads = launch.first_block + blockIdx.x == 0;
  const uint32_t num_movers = leads ? kMovers - kReaderThreads - kTriggerThreads - kLanes : kMovers;
  prepare(*state, shared, num_movers, leads);
  if (threadIdx.x == 0) return decide(*state, launch, shared);
  if (threadIdx.x < 32) return;
  const uint32_t helper = threadIdx.x - 32;
  if (helper < num_movers) return move_tiles(shared, helper, num_movers);
  if (!leads) return;
  if (helper < num_movers + kReaderThreads) {
    return read_letters(*state, shared, (helper - num_movers) / 16);
  }
  if (helper < kMovers - kLanes) return read_triggers(*state, shared);
  if (helper < kMovers) return run_lanes(*state, shared);
  read_submissions(*state, shared);
}

}  // namespace

cudaError_t load_daemon(cudaStream_t stream, uint32_t& num_threads) {
  // As many threads as the code that was loaded is compiled for.
  cudaFuncAttributes code{};
  cudaError_t error = cudaFuncGetAttributes(&code, run_daemon);
  if (error != cudaSuccess) return error;
  num_threads = static_cast<uint32_t>(code.maxThreadsPerBlock);
  error =
      cudaFuncSetAttribute(run_daemon, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
  if (error != cudaSuccess) return error;
  error = launch_daemon(nullptr, {}, num_threads, stream);
  return error != cudaSuccess ? error : cudaStreamSynchronize(stream);
}

cudaError_t launch_daemon(DaemonState* state, const Launch& launch, uint32_t num_threads,
                          cudaStream_t stream) {
  run_daemon<<<launch.num_blocks, num_threads, sizeof(Shared), stream>>>(state, launch);
  return cudaGetLastError();
}

}  // namespace tutti::engine::cuda
