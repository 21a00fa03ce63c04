// The loop that every library is measured with: the same buffers, clock, warm-up, statistics and
// check, so that two figures differ by the library alone. A library is an adapter, see Library.
//
// Calls follow each other without barriers. The time of call i is that of its slowest rank; mean is
// the whole loop's time by the number of calls. Bytes are those of nccl-tests: the whole row.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "bench/peers/noise.h"
#include "bench/peers/options.h"

namespace peers {

// `elems` floats are the row; `part` of them one rank's block, where a call has blocks.
struct Call {
  What what = What::kAllReduce;
  float* input = nullptr;
  float* output = nullptr;
  size_t elems = 0;
  size_t part = 0;
  bool in_place = false;
};

template <class L>
concept Library = requires(L library, const Call& call, std::span<double> values) {
  { library.rank() } -> std::convertible_to<int>;
  { library.num_ranks() } -> std::convertible_to<int>;
  // Whether the call can be made at all.
  { library.offers(What{}, bool{}) } -> std::same_as<bool>;
  // Something that makes the blocking call each time it is called; it lives as long as the buffers.
  library.prepare(call)();
  // Element-wise, over all ranks.
  library.max_of_all(values);
  // Whether a reduce_scatter in place leaves its result at the rank's block, or at the front.
  { L::kScattersToBlock } -> std::convertible_to<bool>;
};

[[nodiscard]] constexpr bool has_blocks(What what) {
  return what == What::kAllGather || what == What::kReduceScatter || what == What::kAllToAll;
}

// Small whole numbers: sums are exact.
[[nodiscard]] inline float value_of(int rank, size_t place) {
  return static_cast<float>(place % 97 + static_cast<size_t>(rank) * 3 + 1);
}

class Buffers {
 public:
  Buffers(What what, size_t bytes, int rank, int num_ranks)
      : what_(what), rank_(static_cast<size_t>(rank)), num_ranks_(num_ranks) {
    elems_ = std::max<size_t>(bytes / sizeof(float), 1);
    const auto n = static_cast<size_t>(num_ranks);
    if (has_blocks(what)) elems_ = std::max(elems_ / n, size_t{1}) * n;
    part_ = has_blocks(what) ? elems_ / n : elems_;
    first_ = allocate();
    second_ = allocate();
  }

  [[nodiscard]] Call call(bool in_place, bool scatters_to_block) const {
    Call call{what_, first_.get(), second_.get(), elems_, part_, in_place};
    if (what_ == What::kBroadcast) call.input = call.output;
    if (!in_place) return call;
    call.output = call.input;
    if (what_ == What::kAllGather) call.input += rank_ * part_;
    if (what_ == What::kReduceScatter && scatters_to_block) call.output += rank_ * part_;
    return call;
  }

  void fill(const Call& call) {
    std::fill_n(first_.get(), elems_, 0.0F);
    std::fill_n(second_.get(), elems_, 0.0F);
    const bool has_input = what_ != What::kBroadcast || rank_ == 0;
    const bool is_part = what_ == What::kAllGather;
    const size_t begin = is_part ? rank_ * part_ : 0;
    for (size_t i = 0; has_input && i < (is_part ? part_ : elems_); ++i) {
      call.input[i] = value_of(static_cast<int>(rank_), begin + i);
    }
  }

  // Sums of zeros stay zero however often they are taken in place.
  void clear() {
    std::fill_n(first_.get(), elems_, 0.0F);
    std::fill_n(second_.get(), elems_, 0.0F);
  }

  [[nodiscard]] size_t num_wrong(const Call& call) const {
    if (what_ == What::kReduce && rank_ != 0) return 0;
    size_t wrong = 0;
    const size_t elems = what_ == What::kReduceScatter ? part_ : elems_;
    for (size_t i = 0; i < elems; ++i) wrong += call.output[i] != expected(i) ? 1 : 0;
    return wrong;
  }

 private:
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  using Memory = std::unique_ptr<float[], Free>;

  // From malloc, so that GLIBC_TUNABLES decides on huge pages for every library alike.
  [[nodiscard]] Memory allocate() const {
    constexpr size_t kPage = 4096;
    const size_t bytes = (elems_ * sizeof(float) + kPage - 1) / kPage * kPage;
    return Memory(static_cast<float*>(std::aligned_alloc(kPage, bytes)));
  }

  [[nodiscard]] float sum_at(size_t place) const {
    float sum = 0;
    for (int r = 0; r < num_ranks_; ++r) sum += value_of(r, place);
    return sum;
  }

  [[nodiscard]] float expected(size_t i) const {
    switch (what_) {
      case What::kAllReduce:
      case What::kReduce: return sum_at(i);
      case What::kBroadcast: return value_of(0, i);
      case What::kAllGather: return value_of(static_cast<int>(i / part_), i);
      case What::kReduceScatter: return sum_at(rank_ * part_ + i);
      case What::kAllToAll: return value_of(static_cast<int>(i / part_), rank_ * part_ + i % part_);
    }
    return 0;
  }

  What what_;
  size_t rank_;
  int num_ranks_;
  size_t elems_ = 0;
  size_t part_ = 0;
  Memory first_;
  Memory second_;
};

template <Library L>
class Loop {
 public:
  Loop(L& library, const Options& options) : library_(library), options_(options) {}

  void run() {
    if (options_.pin) pin();
    for (const What what : options_.collectives) {
      for (const size_t bytes : options_.sizes) {
        for (const bool in_place : {false, true}) {
          const bool is_wanted = in_place ? options_.in_place : options_.out_of_place;
          if (is_wanted && library_.offers(what, in_place)) measure(what, bytes, in_place);
        }
      }
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Microseconds = std::chrono::duration<double, std::micro>;

  void pin() const {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(static_cast<size_t>(library_.rank() % sysconf(_SC_NPROCESSORS_ONLN)), &cores);
    sched_setaffinity(0, sizeof cores, &cores);
  }

  double max_of_all(double value) {
    library_.max_of_all(std::span(&value, 1));
    return value;
  }

  void measure(What what, size_t bytes, bool in_place) {
    Buffers buffers(what, bytes, library_.rank(), library_.num_ranks());
    const Call call = buffers.call(in_place, L::kScattersToBlock);
    auto&& make_call = library_.prepare(call);
    buffers.fill(call);
    max_of_all(0);  // nobody reads an input that is not filled yet
    make_call();
    const double wrong = max_of_all(static_cast<double>(buffers.num_wrong(call)));
    buffers.clear();
    const size_t iterations = warm_up(make_call);
    std::vector<double> times(iterations);
    max_of_all(0);
    Noise noise(options_.noise_percent, static_cast<uint64_t>(library_.rank()));
    const auto begin = Clock::now();
    auto last = begin;
    for (double& time : times) {
      make_call();
      const auto now = Clock::now();
      time = Microseconds(now - last).count();
      last = now;
    }
    noise.stop();
    const double total = max_of_all(Microseconds(last - begin).count());
    library_.max_of_all(times);
    if (library_.rank() == 0) print({what, bytes, in_place}, times, total, wrong);
  }

  // At least four calls, and 50 ms or 400 calls. How many calls then fill the time that was asked
  // for.
  template <class MakeCall>
  size_t warm_up(MakeCall& make_call) {
    constexpr double kEnoughUs = 50e3;
    constexpr int kEnoughCalls = 400;
    const auto begin = Clock::now();
    int num_calls = 0;
    double took = 0;
    while (took < kEnoughUs && num_calls < kEnoughCalls) {
      for (int i = 0; i < 4; ++i) make_call();
      num_calls += 4;
      took = max_of_all(Microseconds(Clock::now() - begin).count());
    }
    const double fitting = options_.seconds * 1e6 / (took / num_calls);
    return static_cast<size_t>(std::clamp(fitting, double(options_.min_iterations), 20000.0));
  }

  struct Subject {
    What what;
    size_t bytes;  // as asked for; a call with blocks has at least one float in each
    bool in_place;
  };

  void print(const Subject& subject, std::vector<double>& times, double total, double wrong) const {
    std::sort(times.begin(), times.end());
    const auto at = [&](double share) {
      return times[static_cast<size_t>(share * double(times.size() - 1) + 0.5)];
    };
    std::printf("row,%s,%d,%zu,%s,%g,%zu,%.3f,%.3f,%.3f,%.0f\n", name_of(subject.what),
                int(library_.num_ranks()), subject.bytes, subject.in_place ? "in" : "out",
                options_.noise_percent, times.size(), at(0.5), at(0.99),
                total / double(times.size()), wrong);
    std::fflush(stdout);
  }

  L& library_;
  const Options& options_;
};

// What main() of every adapter does after the library is up.
template <Library L>
void run(L& library, const Options& options) {
  Loop<L>(library, options).run();
}

}  // namespace peers
