// Numbers that look random and are the same everywhere for the same seed (splitmix64).
#pragma once

#include <cstdint>

namespace tutti::plan::synth {

class GreedyRandom {
 public:
  explicit GreedyRandom(uint64_t seed) : state_(seed) {}

  // 0 .. n - 1, n at least 1.
  uint64_t below(uint64_t n) { return next() % n; }

 private:
  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t z = state_;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

  uint64_t state_;
};

}  // namespace tutti::plan::synth
