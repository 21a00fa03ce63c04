// How close two cores are at this moment, in about 40 ms: virtual cores wander over the host's, and
// between two that share a cache a flag travels four times as fast as between two that do not.
//
// Prints a word (siblings, near, far), the nanoseconds a flag takes one way, and the microseconds
// of handing 256 KiB over. With fewer than two cores: alone 0 0.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr uint32_t kFlags = 20'000;
constexpr uint32_t kBlocks = 20;
constexpr size_t kBlockBytes = 256 * 1024;
constexpr int kRepeats = 5;

struct Line {
  alignas(64) std::atomic<uint32_t> there{0};
  alignas(64) std::atomic<uint32_t> back{0};
};

void pin_to(size_t core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
}

void await(const std::atomic<uint32_t>& flag, uint32_t value) {
  while (flag.load(std::memory_order_acquire) != value) __builtin_ia32_pause();
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Sample {
  double flag_ns;
  double block_us;
};

Sample sample() {
  Line line;
  std::vector<char> shared(kBlockBytes);
  std::thread answerer([&] {
    pin_to(1);
    std::vector<char> own(kBlockBytes);
    for (uint32_t i = 1; i <= kFlags + kBlocks; ++i) {
      await(line.there, i);
      if (i > kFlags) std::memcpy(own.data(), shared.data(), kBlockBytes);
      line.back.store(i, std::memory_order_release);
    }
  });
  Sample result{};
  std::thread asker([&] {
    pin_to(0);
    const std::vector<char> own(kBlockBytes, 1);
    auto begin = std::chrono::steady_clock::now();
    for (uint32_t i = 1; i <= kFlags + kBlocks; ++i) {
      if (i > kFlags) std::memcpy(shared.data(), own.data(), kBlockBytes);
      line.there.store(i, std::memory_order_release);
      await(line.back, i);
      if (i != kFlags) continue;
      result.flag_ns = seconds_since(begin) * 1e9 / kFlags / 2;
      begin = std::chrono::steady_clock::now();
    }
    result.block_us = seconds_since(begin) * 1e6 / kBlocks;
  });
  answerer.join();
  asker.join();
  return result;
}

const char* word_for(double flag_ns) {
  if (flag_ns < 35) return "siblings";
  return flag_ns < 110 ? "near" : "far";
}

}  // namespace

int main() {
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
    std::puts("alone 0 0");
    return 0;
  }
  std::array<double, kRepeats> flags{};
  std::array<double, kRepeats> blocks{};
  for (size_t i = 0; i < kRepeats; ++i) {
    const Sample s = sample();
    flags[i] = s.flag_ns;
    blocks[i] = s.block_us;
  }
  std::sort(flags.begin(), flags.end());
  std::sort(blocks.begin(), blocks.end());
  const double flag_ns = flags[kRepeats / 2];
  std::printf("%s %.0f %.1f\n", word_for(flag_ns), flag_ns, blocks[kRepeats / 2]);
}
