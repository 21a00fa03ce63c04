// all_reduce of 8 B to 1 MiB of ranks that are threads: a call from the host without a stream; a
// call in a stream and a wait for the stream; and calls one behind the other in a stream.
//
// usage: small_bench RANKS [SECONDS]
#include "bench/cuda/rank_data.h"
#include "engine/cuda/stream.h"
#include "engine/cuda/watch.h"

namespace tutti::bench {
namespace {

struct Case {
  uint64_t bytes;
  std::string_view algorithm;
};
constexpr Case kCases[] = {{8, "pull_all"},        {64, "pull_all"},      {512, "pull_all"},
                           {512, "pull"},          {4 << 10, "pull_all"}, {4 << 10, "pull"},
                           {64 << 10, "pull_all"}, {64 << 10, "pull"},    {256 << 10, "pull"},
                           {1 << 20, "pull"}};
constexpr uint64_t kMostCalls = 20'000;
constexpr uint64_t kMostBehind = 1'000;  // what a stream holds at once has bounds

// A stream of each rank, in which its daemon has operations.
class StreamRanks {
 public:
  explicit StreamRanks(DeviceRanks& ranks) : ranks_(ranks) {
    for (uint32_t r = 0; r < ranks.num_ranks(); ++r) {
      TUTTI_CUDA_CHECK(cudaStreamCreateWithFlags(&streams_.emplace_back(), cudaStreamNonBlocking));
      if (const Status settled = ranks.device().settle(streams_.back()); !settled) {
        die("a stream: " + settled.error().message);
      }
      auto ordered = engine::cuda::Stream::create(ranks.device(), ranks.daemon(r), watch_);
      if (!ordered) die("a stream: " + ordered.error().message);
      ordered_.push_back(std::move(*ordered));
    }
  }
  ~StreamRanks() {
    watch_.wait_for_all();
    for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
  }
  StreamRanks(const StreamRanks&) = delete;
  StreamRanks& operator=(const StreamRanks&) = delete;

  void enqueue(uint32_t rank, DeviceCollective& what, uint64_t id, const RankData& data) {
    auto request = DeviceRanks::request(rank, what, id, data.input(), data.output());
    const Status done =
        ordered_[rank]->submit({.stream = streams_[rank], .requests = {&request, 1}});
    if (!done) die("a call in a stream: " + done.error().message);
  }
  void synchronize(uint32_t rank) { TUTTI_CUDA_CHECK(cudaStreamSynchronize(streams_[rank])); }
  // All operations of all ranks are over, and their memory can be used again.
  void wait_for_all() { watch_.wait_for_all(); }

 private:
  DeviceRanks& ranks_;
  std::vector<cudaStream_t> streams_;
  std::vector<std::unique_ptr<engine::cuda::Stream>> ordered_;
  engine::cuda::Watch watch_;
};

struct Row {
  Times host;
  Times stream;
  double behind_us = 0;
  uint64_t num_wrong = 0;
};

// Numbers of operations, of which each rank counts its own: all count alike.
uint64_t g_first_id = 1;

Row measure(DeviceRanks& ranks, StreamRanks& streams, const Case& one, double seconds) {
  DeviceCollective what =
      ranks.load({CollectiveKind::kAllReduce, one.algorithm, one.bytes / sizeof(float)});
  const auto data = data_of_ranks(ranks.num_ranks(), one.bytes / sizeof(float));
  Agreement agreement;
  Row row;
  std::atomic<uint64_t> next_id = 0;
  // The three paths one after the other; what a rank has measured counts if it is the first.
  const auto on_all = [&](auto measure_path) {
    for (const auto& of_rank : data) of_rank->spoil();
    TUTTI_CUDA_CHECK(cudaDeviceSynchronize());
    ranks.run([&](uint32_t r, std::barrier<>& all) {
      uint64_t id = g_first_id;
      const auto agree = [&](uint64_t value) { return agreement(r, all, value); };
      all.arrive_and_wait();
      measure_path(r, id, agree);
      if (r == 0) next_id = id;
    });
    streams.wait_for_all();
    g_first_id = next_id;
    row.num_wrong += num_wrong_of(data);
  };
  begin_phase("from the host");
  on_all([&](uint32_t r, uint64_t& id, auto agree) {
    auto times = time_calls(seconds / 3, kMostCalls, agree, [&] {
      ranks.wait(r, ranks.submit(r, what, id++, data[r]->input(), data[r]->output()));
    });
    if (r == 0) row.host = times_of(std::move(times));
  });
  begin_phase("through a stream");
  on_all([&](uint32_t r, uint64_t& id, auto agree) {
    auto times = time_calls(seconds / 3, kMostCalls, agree, [&] {
      streams.enqueue(r, what, id++, *data[r]);
      streams.synchronize(r);
    });
    if (r == 0) row.stream = times_of(std::move(times));
  });
  begin_phase("one behind the other");
  on_all([&](uint32_t r, uint64_t& id, auto agree) {
    const double us = time_behind(
        seconds / 3, kMostBehind, agree, [&] { streams.enqueue(r, what, id++, *data[r]); },
        [&] { streams.synchronize(r); });
    if (r == 0) row.behind_us = us;
  });
  return row;
}

int run(const Options& options) {
  begin_phase("making daemons");
  DeviceRanks ranks(options.num_ranks);
  StreamRanks streams(ranks);
  std::printf("all_reduce, %u ranks (threads), %u workers each; times in us\n", ranks.num_ranks(),
              ranks.daemon(0).num_workers());
  std::printf("%8s %10s | %8s %8s %8s | %8s %8s %8s | %8s | %6s\n", "", "", "host", "", "",
              "stream", "", "", "behind", "");
  std::printf("%8s %10s | %8s %8s %8s | %8s %8s %8s | %8s | %6s\n", "bytes", "algorithm", "p50",
              "p99", "mean", "p50", "p99", "mean", "mean", "#wrong");
  uint64_t num_wrong = 0;
  for (const Case& one : kCases) {
    const Row row = measure(ranks, streams, one, options.seconds / std::size(kCases));
    std::printf("%8lu %10s | %8.2f %8.2f %8.2f | %8.2f %8.2f %8.2f | %8.2f | %6lu\n", one.bytes,
                std::string(one.algorithm).c_str(), row.host.p50, row.host.p99, row.host.mean,
                row.stream.p50, row.stream.p99, row.stream.mean, row.behind_us, row.num_wrong);
    num_wrong += row.num_wrong;
  }
  begin_phase("the end");
  return num_wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) { return tutti::bench::run(tutti::bench::begin(argc, argv, {})); }
