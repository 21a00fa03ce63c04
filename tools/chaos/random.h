// Random numbers that are the same everywhere: no part of it is left to the standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tutti::tools::chaos {

class Random {
 public:
  // Different arguments give independent sequences.
  explicit Random(uint64_t seed, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0) : state_(seed) {
    for (const uint64_t word : {a, b, c}) state_ = next() ^ (word * 0x9E3779B97F4A7C15u);
  }

  uint64_t next() {  // splitmix64
    uint64_t x = state_ += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }

  // 0 .. bound - 1; the bound is not 0 and far below 2^64.
  uint64_t below(uint64_t bound) { return next() % bound; }
  bool one_in(uint64_t n) { return below(n) == 0; }
  // 0 <= x < 1
  double fraction() { return static_cast<double>(next() >> 11) / 9007199254740992.0; }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  uint64_t state_;
};

}  // namespace tutti::tools::chaos
