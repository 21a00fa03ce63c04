// Which way a rank's memory takes to peers in other processes, learned from call to call. Each way
// is the fastest somewhere, by up to five times: it depends on how far apart the cores are (virtual
// ones wander), on the pages under the caller's buffers and on caches, none of which a program can
// ask for. So calls of one kind and size try all ways now and then, a few calls each, and the
// others take the one that was fastest.
//
// Every rank decides for its own memory and says in its hello where that is, so ranks need not
// agree. Not thread-safe: belongs to whoever holds the engine's turn.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace tutti::engine {

enum class Way : uint8_t {
  kMirror,  // copied into shared memory, through the caches
  kStream,  // the same, past the caches
  kPull,    // lent: peers read it where it is, by a system call
};

class Ways {
 public:
  // Before the first trial: memory is touched for the first time, and many calls are made but once.
  static constexpr uint32_t kWarmUps = 2;
  // How much of a call is tried: so many calls in a row by each way, and that so often. The first
  // of a row does not count: caches hold what the last way left there, and peers may not be done
  // with it. Of rows by one way the fastest counts.
  struct Effort {
    uint32_t calls = 4;
    uint32_t rows = 2;
  };
  // For calls that take milliseconds, which noise does not change much.
  static constexpr Effort kLittle{.calls = 2, .rows = 1};
  // Calls between trials. More and more while they all end alike.
  static constexpr uint32_t kFirstPeriod = 64;
  static constexpr uint32_t kLongestPeriod = 8192;
  // A call of which is not known how long it would have taken by itself.
  static constexpr uint64_t kUnknown = UINT64_MAX;

  struct Turn {
    Way way = Way::kMirror;
    bool is_trial = false;  // say how long it took
  };

  // `usual` is the way until one is known to be better; kPull only where it is possible.
  void start(Way usual, bool can_pull, Effort effort) {
    if (num_ways_ != 0) return;
    best_ = usual;
    num_ways_ = can_pull ? 3 : 2;
    effort_ = effort;
  }

  [[nodiscard]] Way best() const { return best_; }

  // For the next call; one of a trial is over before there is another.
  [[nodiscard]] Turn next() {
    if (settled_left_ == 0) return {static_cast<Way>(row() % num_ways_), true};
    --settled_left_;
    return {best_};
  }

  // So long took a call of a trial.
  void took(uint64_t ticks) {
    if (num_tried_ % effort_.calls == 0) {
      sum_ = 0;
    } else {
      sum_ = ticks == kUnknown || sum_ == kUnknown ? kUnknown : sum_ + ticks;
    }
    if (num_tried_ % effort_.calls == effort_.calls - 1) {
      uint64_t& least = ticks_[row() % num_ways_];
      least = std::min(least, sum_);
    }
    if (++num_tried_ == num_ways_ * effort_.rows * effort_.calls) settle();
  }

 private:
  static constexpr std::array<uint64_t, 3> kNothing{kUnknown, kUnknown, kUnknown};

  [[nodiscard]] uint32_t row() const { return num_tried_ / effort_.calls; }

  void settle() {
    const Way winner = judge();
    period_ = winner == best_ ? std::min(2 * period_, kLongestPeriod) : kFirstPeriod;
    best_ = winner;
    settled_left_ = period_;
    num_tried_ = 0;
    ticks_ = kNothing;
  }

  // A tenth is not worth a change: it may be noise.
  [[nodiscard]] Way judge() const {
    const uint64_t own = ticks_[static_cast<size_t>(best_)];
    const auto least = std::min_element(ticks_.begin(), ticks_.end());
    const bool is_better = own != kUnknown && *least < own - own / 10;
    return is_better ? static_cast<Way>(least - ticks_.begin()) : best_;
  }

  Way best_ = Way::kMirror;
  uint32_t num_ways_ = 0;  // 0: not started
  Effort effort_;
  uint32_t num_tried_ = 0;            // calls of the trial under way
  uint32_t settled_left_ = kWarmUps;  // calls until the next trial
  uint32_t period_ = kFirstPeriod / 2;
  uint64_t sum_ = 0;                          // of the row
  std::array<uint64_t, 3> ticks_ = kNothing;  // by way: of its fastest row
};

}  // namespace tutti::engine
