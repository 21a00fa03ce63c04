// The tail of many small all_reduces: one after the other, many under way in one common order, and
// many under way in another random order on each rank. Ranks are threads, calls come from the host
// without a stream.
//
// A window of calls is issued, then waited for in the order of issue; a call's time is from its
// issue until it was waited for, so it contains those before it. An interval is 100 calls; bursts
// are intervals with less than 60 % of the throughput of the median one.
//
// usage: tail_bench RANKS [SECONDS]
#include <algorithm>
#include <numeric>
#include <random>

#include "bench/cuda/rank_data.h"

namespace tutti::bench {
namespace {

constexpr uint32_t kWindow = 20;
constexpr uint32_t kInterval = 100;
constexpr uint64_t kMostCalls = 100'000;
constexpr uint64_t kElems[] = {2, 16, 64, 256};  // 8 B to 1 KiB
constexpr double kBurstShare = 0.6;
static_assert(kInterval % kWindow == 0);

enum class Way : uint8_t { kAlone, kOneOrder, kAnyOrder };
constexpr Way kWays[] = {Way::kAlone, Way::kOneOrder, Way::kAnyOrder};

const char* name_of(Way way) {
  switch (way) {
    case Way::kAlone: return "one after the other";
    case Way::kOneOrder: return "20 under way, one order";
    case Way::kAnyOrder: return "20 under way, any order";
  }
  return "";
}

// The calls of a window: each its own data, so that a mix-up is seen.
struct Calls {
  std::vector<DeviceCollective> shapes;
  std::vector<std::vector<std::unique_ptr<RankData>>> data;  // by call, then by rank
};

Calls make_calls(DeviceRanks& ranks) {
  Calls calls;
  for (const uint64_t elems : kElems) {
    calls.shapes.push_back(ranks.load({CollectiveKind::kAllReduce, "pull_all", elems}));
  }
  for (uint32_t i = 0; i < kWindow; ++i) {
    calls.data.push_back(
        data_of_ranks(ranks.num_ranks(), kElems[i % std::size(kElems)], /*salt=*/i));
  }
  return calls;
}

// What the first rank saw.
struct Seen {
  std::vector<double> call_us;
  std::vector<double> interval_us;
};

class Turn {
 public:
  Turn(DeviceRanks& ranks, Calls& calls, Way way, uint64_t seed)
      : ranks_(ranks), calls_(calls), way_(way), seed_(seed) {}

  // About so long, and at most so many calls.
  void run(double seconds, uint64_t most_calls, uint64_t& first_id, Seen& seen) {
    std::atomic<uint64_t> num_windows = 0;
    ranks_.run([&](uint32_t r, std::barrier<>& all) {
      std::mt19937_64 random(seed_ * 1000 + r);
      constexpr uint64_t kTrial = kInterval / kWindow * 4;
      Seen warm;
      uint64_t id = first_id;
      all.arrive_and_wait();
      run_windows(r, kTrial, id, random, warm);
      const double begin = now_us();
      run_windows(r, kTrial, id, random, warm);
      const double window_us = (now_us() - begin) / kTrial;
      const auto wanted = static_cast<uint64_t>(seconds * 1e6 / window_us);
      const uint64_t mine = std::clamp(wanted, kTrial, most_calls / kWindow);
      const uint64_t num = agreement_(r, all, mine - mine % (kInterval / kWindow));
      Seen own;
      run_windows(r, num, id, random, own);
      if (r != 0) return;
      num_windows = 2 * kTrial + num;
      seen.call_us.insert(seen.call_us.end(), own.call_us.begin(), own.call_us.end());
      seen.interval_us.insert(seen.interval_us.end(), own.interval_us.begin(),
                              own.interval_us.end());
    });
    first_id += num_windows * kWindow;
  }

 private:
  void run_windows(uint32_t rank, uint64_t num_windows, uint64_t& id, std::mt19937_64& random,
                   Seen& seen) {
    std::vector<uint32_t> order(kWindow);
    std::iota(order.begin(), order.end(), 0U);
    seen.call_us.reserve(num_windows * kWindow);
    double interval_begin = now_us();
    for (uint64_t window = 0; window < num_windows; ++window, id += kWindow) {
      if (way_ == Way::kAnyOrder) std::shuffle(order.begin(), order.end(), random);
      run_window(rank, id, order, seen);
      if ((window + 1) % (kInterval / kWindow) != 0) continue;
      const double now = now_us();
      seen.interval_us.push_back(now - interval_begin);
      interval_begin = now;
    }
  }

  void run_window(uint32_t rank, uint64_t id, const std::vector<uint32_t>& order, Seen& seen) {
    engine::cuda::Daemon::Ticket tickets[kWindow];
    double begins[kWindow] = {};
    const auto wait_for = [&](uint32_t i) {
      ranks_.wait(rank, tickets[i]);
      seen.call_us.push_back(now_us() - begins[i]);
    };
    for (uint32_t i = 0; i < kWindow; ++i) {
      const uint32_t call = order[i];
      const RankData& data = *calls_.data[call][rank];
      begins[i] = now_us();
      tickets[i] = ranks_.submit(rank, calls_.shapes[call % std::size(kElems)], id + call,
                                 data.input(), data.output());
      if (way_ == Way::kAlone) wait_for(i);
    }
    if (way_ == Way::kAlone) return;
    for (uint32_t i = 0; i < kWindow; ++i) wait_for(i);
  }

  DeviceRanks& ranks_;
  Calls& calls_;
  Way way_;
  uint64_t seed_;
  Agreement agreement_;
};

void print(Way way, const Seen& seen, uint64_t num_wrong) {
  const Times times = times_of(seen.call_us);
  const double all_us = std::accumulate(seen.interval_us.begin(), seen.interval_us.end(), 0.0);
  // Throughput is below a share of the median's where time is above the median's by that share.
  const double slow_us = median(seen.interval_us) / kBurstShare;
  const auto num_bursts = std::count_if(seen.interval_us.begin(), seen.interval_us.end(),
                                        [slow_us](double us) { return us > slow_us; });
  const auto num_intervals = static_cast<double>(seen.interval_us.size());
  std::printf("%-24s %8zu %8.2f %8.2f %8.2f %9.1f %11.0f %9.0f %8.3f %% %6lu\n", name_of(way),
              seen.call_us.size(), times.p50, times.p99, times.p999, times.most,
              static_cast<double>(seen.call_us.size()) / all_us * 1e6,
              kInterval / median(seen.interval_us) * 1e6,
              100 * static_cast<double>(num_bursts) / num_intervals, num_wrong);
}

int run(const Options& options) {
  begin_phase("making daemons");
  DeviceRanks ranks(options.num_ranks);
  Calls calls = make_calls(ranks);
  std::printf("all_reduce of 8 B to 1 KiB, %u ranks (threads); times in us\n", ranks.num_ranks());
  std::printf("%-24s %8s %8s %8s %8s %9s %11s %9s %10s %6s\n", "", "calls", "p50", "p99", "p99.9",
              "max", "calls/s", "median/s", "bursts", "#wrong");
  // By turns, so that whatever changes meanwhile changes for all.
  constexpr uint32_t kTurns = 2;
  Seen seen[std::size(kWays)];
  uint64_t num_wrong[std::size(kWays)] = {};
  uint64_t first_id = 1;
  for (uint32_t turn = 0; turn < kTurns; ++turn) {
    for (const Way way : kWays) {
      begin_phase(name_of(way));
      for (const auto& call : calls.data) {
        for (const auto& data : call) data->spoil();
      }
      const auto w = static_cast<size_t>(way);
      Turn(ranks, calls, way, turn)
          .run(options.seconds / (kTurns * std::size(kWays)), kMostCalls / kTurns, first_id,
               seen[w]);
      for (const auto& call : calls.data) num_wrong[w] += num_wrong_of(call);
    }
  }
  uint64_t all_wrong = 0;
  for (const Way way : kWays) {
    const auto w = static_cast<size_t>(way);
    print(way, seen[w], num_wrong[w]);
    all_wrong += num_wrong[w];
  }
  begin_phase("the end");
  return all_wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) {
  return tutti::bench::run(tutti::bench::begin(argc, argv, {.seconds = 5}));
}
