// What the programs of this folder begin and end with: arguments, an end that always comes, figures
// of many times, and how often something is done in the time that there is.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace tutti::bench {

inline double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// At once: threads that wait for this one would never be joined.
[[noreturn]] inline void die(const std::string& why) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", why.c_str());
  std::_Exit(1);
}

// --- an end that always comes ---

// What the program does now: a literal.
inline std::atomic<const char*> g_phase{"the beginning"};
inline void begin_phase(const char* phase) { g_phase.store(phase); }

inline void end_by_alarm(int /*signal*/) {
  const auto say = [](const char* text) {
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0) _exit(3);
  };
  say("ended by its alarm, in the phase: ");
  say(g_phase.load());
  say("\n");
  _exit(3);
}

struct Options {
  uint32_t num_ranks = 2;
  double seconds = 2;  // of measuring, about
  std::string word;    // what else the program was told
};

// Arguments RANKS [SECONDS [WORD]]; and an alarm when all should long be over.
inline Options begin(int argc, char** argv, const Options& usual, const char* words = "") {
  Options options = usual;
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 0;
  if (argc > 2) options.seconds = std::atof(argv[2]);
  if (argc > 3) options.word = argv[3];
  if (ranks < 1 || ranks > 64 || options.seconds <= 0 || argc > 4) {
    std::fprintf(stderr, "usage: %s RANKS [SECONDS%s]\n", argv[0], words);
    std::exit(2);
  }
  options.num_ranks = static_cast<uint32_t>(ranks);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::signal(SIGALRM, end_by_alarm);
  alarm(static_cast<unsigned>(60 + 4 * options.seconds));
  return options;
}

// --- figures ---

struct Times {
  double p50 = 0;
  double p99 = 0;
  double p999 = 0;
  double most = 0;
  double mean = 0;
};

inline double quantile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
}

inline Times times_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double value : values) sum += value;
  return {quantile(values, 0.5), quantile(values, 0.99), quantile(values, 0.999), values.back(),
          sum / static_cast<double>(values.size())};
}

inline double median(std::vector<double> values) { return times_of(std::move(values)).p50; }

// --- as often as there is time for ---

// `call` is made by all ranks equally often. `agree` gives all of them what the first one says.
// Times of this rank, in us.
template <class Agree, class Call>
std::vector<double> time_calls(double seconds, uint64_t most, Agree agree, Call call) {
  constexpr uint64_t kWarmUp = 20;
  constexpr uint64_t kTrial = 30;
  for (uint64_t i = 0; i < kWarmUp; ++i) call();
  const double trial_begin = now_us();
  for (uint64_t i = 0; i < kTrial; ++i) call();
  const double call_us = (now_us() - trial_begin) / kTrial;
  const auto wanted = static_cast<uint64_t>(seconds * 1e6 / call_us);
  const uint64_t num_calls = agree(std::clamp(wanted, kTrial, most));
  std::vector<double> times(num_calls);
  for (double& time : times) {
    const double begin = now_us();
    call();
    time = now_us() - begin;
  }
  return times;
}

// The same of calls that do not wait, and one wait after them: mean time of a call.
template <class Agree, class Call, class Wait>
double time_behind(double seconds, uint64_t most, Agree agree, Call call, Wait wait_for_all) {
  constexpr uint64_t kTrial = 100;
  double call_us = 0;
  uint64_t num_calls = kTrial;
  // First the trial, then as many as there is time for: twice, since in the first of these turns
  // each call that is under way beside others has its place made.
  for (int turn = 0; turn < 3; ++turn) {
    const double begin = now_us();
    for (uint64_t i = 0; i < num_calls; ++i) call();
    wait_for_all();
    call_us = (now_us() - begin) / static_cast<double>(num_calls);
    if (turn != 0) continue;
    num_calls = agree(std::clamp(static_cast<uint64_t>(seconds * 1e6 / call_us), kTrial, most));
  }
  return call_us;
}

}  // namespace tutti::bench
