// Takes the calling thread away now and then, as other work on its core would, whatever it is
// doing: also in the middle of a call. The core itself is left to others.
//
// At random moments, 100 times a second on average, it sleeps for a random time, so that it is away
// for the asked share of the time.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace peers {

class Noise {
 public:
  Noise(double percent, uint64_t seed) : is_on_(percent > 0) {
    if (!is_on_) return;
    state_ = seed * 0x9E3779B97F4A7C15U + 1;
    longest_ns_ = 2 * percent / 100 * kPeriodNs;
    struct sigaction action {};
    action.sa_handler = strike;
    action.sa_flags = SA_RESTART;
    sigaction(signal_number(), &action, nullptr);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal_number();
    event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    timer_create(CLOCK_MONOTONIC, &event, &timer_);
    arm();
  }
  ~Noise() { stop(); }
  Noise(const Noise&) = delete;
  Noise& operator=(const Noise&) = delete;

  void stop() {
    if (!is_on_) return;
    is_on_ = false;
    timer_delete(timer_);
    signal(signal_number(), SIG_IGN);
  }

 private:
  static constexpr double kPeriodNs = 10e6;

  static int signal_number() { return SIGRTMIN + 5; }

  static double random() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<double>(state_ >> 11) / 9007199254740992.0;
  }

  static timespec after(double ns) {
    return {static_cast<time_t>(ns / 1e9), static_cast<long>(ns) % 1'000'000'000};
  }

  static void arm() {
    itimerspec next{};
    next.it_value = after(1 + 2 * kPeriodNs * random());
    timer_settime(timer_, 0, &next, nullptr);
  }

  static void strike(int /*signal*/) {
    const timespec away = after(longest_ns_ * random());
    nanosleep(&away, nullptr);
    arm();
  }

  // One a process: a handler has nothing else to find them by.
  static inline uint64_t state_ = 1;
  static inline double longest_ns_ = 0;
  static inline timer_t timer_{};
  bool is_on_;
};

}  // namespace peers
