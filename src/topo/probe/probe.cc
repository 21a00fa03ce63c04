#include "topo/probe/probe.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <system_error>
#include <thread>

#include "base/try.h"

namespace tutti::topo {
namespace {

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool bind_to(uint32_t core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

// Two threads that take turns. Each turn is one store and one observed load, each on a line of its
// own, as a message's flag is.
class Turns {
 public:
  explicit Turns(Clock::time_point deadline) : deadline_(deadline) {}

  void give(int side, uint64_t turn) {
    // Pairs with the acquire in await(): who sees the turn sees what was written before it.
    flags_[side].turn.store(turn, std::memory_order_release);
  }

  // False when the other side failed or the deadline passed.
  bool await(int side, uint64_t turn) {
    constexpr uint32_t kSpinsBeforeYield = 1000;
    // Liveness: the other thread gives every turn up to the last in order, or sets failed_; a
    // deadline ends the wait if its core is taken away. Yielding lets both share one core.
    for (uint32_t spins = 0; flags_[side].turn.load(std::memory_order_acquire) < turn; ++spins) {
      if (spins < kSpinsBeforeYield) continue;
      spins = 0;
      if (failed_.load(std::memory_order_relaxed)) return false;
      if (Clock::now() > deadline_) return fail();
      std::this_thread::yield();
    }
    return true;
  }

  bool fail() {
    failed_.store(true, std::memory_order_relaxed);
    return false;
  }
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_relaxed); }

 private:
  struct alignas(128) Flag {
    std::atomic<uint64_t> turn{0};
  };
  Flag flags_[2];
  std::atomic<bool> failed_{false};
  Clock::time_point deadline_;
};

class PairProbe {
 public:
  PairProbe(const ProbeOptions& options, Clock::time_point deadline)
      : options_(options),
        turns_(deadline),
        written_(options.copy_bytes),
        copied_(options.copy_bytes) {}

  // One side answers and writes, the other asks, copies and keeps the time.
  void answer() {
    for (uint32_t b = 0; b < options_.num_batches; ++b) {
      for (uint32_t i = 0; i < options_.round_trips; ++i) {
        if (!turns_.await(0, ++asked_)) return;
        turns_.give(1, asked_);
      }
      std::memset(written_.data(), static_cast<int>(b), written_.size());
      if (!turns_.await(0, ++asked_)) return;
      turns_.give(1, asked_);
    }
  }

  void ask() {
    uint64_t turn = 0;
    for (uint32_t b = 0; b < options_.num_batches; ++b) {
      const auto begin = Clock::now();
      for (uint32_t i = 0; i < options_.round_trips; ++i) {
        turns_.give(0, ++turn);
        if (!turns_.await(1, turn)) return;
      }
      one_way_ns_.push_back(ns_since(begin) / options_.round_trips / 2);
      turns_.give(0, ++turn);
      if (!turns_.await(1, turn)) return;
      const auto copy_begin = Clock::now();
      std::memcpy(copied_.data(), written_.data(), copied_.size());
      gbps_.push_back(static_cast<double>(copied_.size()) / ns_since(copy_begin));
    }
  }

  bool fail() { return turns_.fail(); }
  [[nodiscard]] bool failed() const { return turns_.failed(); }
  [[nodiscard]] PairFigures figures() const { return {median(one_way_ns_), median(gbps_)}; }

 private:
  const ProbeOptions& options_;
  Turns turns_;
  uint64_t asked_ = 0;  // of the answering side alone
  std::vector<unsigned char> written_;
  std::vector<unsigned char> copied_;
  std::vector<double> one_way_ns_;
  std::vector<double> gbps_;
};

std::vector<uint32_t> spread(const std::vector<uint32_t>& cores, uint32_t most) {
  if (cores.size() <= most) return cores;
  std::vector<uint32_t> chosen;
  for (uint32_t i = 0; i < most; ++i) chosen.push_back(cores[i * cores.size() / most]);
  return chosen;
}

}  // namespace

std::vector<uint32_t> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<uint32_t> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (uint32_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

Result<PairFigures> measure_pair(uint32_t core_a, uint32_t core_b, const ProbeOptions& options) {
  PairProbe pair(options, Clock::now() + options.limit);
  std::atomic<bool> bound{true};
  const auto run = [&](uint32_t core, void (PairProbe::*side)()) {
    if (bind_to(core)) {
      (pair.*side)();
    } else {
      bound = false;
      pair.fail();
    }
  };
  // Both sides end by themselves: see Turns::await.
  std::thread answering([&] { run(core_a, &PairProbe::answer); });
  std::thread asking([&] { run(core_b, &PairProbe::ask); });
  answering.join();
  asking.join();
  if (!bound) {
    return Error{ErrorCode::kIo, fmt::format("cannot run on cores {} and {}", core_a, core_b)};
  }
  if (pair.failed()) {
    return Error{ErrorCode::kDeadline,
                 fmt::format("cores {} and {} were not measured within {} ms: is the machine busy?",
                             core_a, core_b, options.limit.count())};
  }
  return pair.figures();
}

Result<Topology> probe(const ProbeOptions& options) {
  const std::vector<uint32_t> cores = spread(usable_cores(), options.max_cores);
  Topology topology;
  topology.name = "host-measured";
  for (uint32_t i = 0; i < cores.size(); ++i) {
    topology.nodes.push_back({fmt::format("core{}", cores[i]), NodeKind::kDevice, 0, 0});
    topology.ranks.emplace_back(i);
  }
  for (uint32_t a = 0; a < cores.size(); ++a) {
    for (uint32_t b = a + 1; b < cores.size(); ++b) {
      TUTTI_ASSIGN(const PairFigures pair, measure_pair(cores[a], cores[b], options));
      for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
        topology.links.push_back(
            {NodeId{from}, NodeId{to}, LinkClass::kMemory, pair.gbps, pair.latency_ns});
      }
    }
  }
  return topology;
}

}  // namespace tutti::topo
