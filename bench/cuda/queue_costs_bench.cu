// What queues cost, each on its own:
// - the bus: a word from the host to a kernel that waits for it, and one back;
// - an operation of one member: nothing is sent or waited for, so all of it is queues. Beyond the
//   bus, that is reading the submission, starting, ending and telling the host; many under way at
//   once are as fast as the leader, or the host, takes them;
// - switches: operations of many steps one after the other, and many under way in one order and in
//   orders of which none is another's.
// This program has a daemon of its own that counts what its leader spends its time on (stages.h);
// the counting makes it slower than the one that small_bench measures.
//
// usage: queue_costs_bench RANKS [SECONDS]
#include "bench/cuda/rank_data.h"
#include "bench/cuda/stages.h"

namespace tutti::bench {
namespace {

constexpr uint64_t kMostCalls = 20'000;
constexpr uint32_t kUnderWay = 256;
constexpr uint32_t kSwitched = 16;  // operations under way

// --- the bus ---

struct Words {
  uint32_t to_kernel;
  uint32_t unused[31];
  uint32_t to_host;
};

// Gives up after some seconds, whatever the host does.
__global__ void echo(Words* words, uint32_t last) {
  constexpr long long kMostCycles = 10'000'000'000;
  const long long begin = clock64();
  const auto* const question = static_cast<const volatile uint32_t*>(&words->to_kernel);
  auto* const answer = static_cast<volatile uint32_t*>(&words->to_host);
  uint32_t seen = 0;
  while (seen != last && clock64() - begin < kMostCycles) {
    const uint32_t value = *question;
    if (value == seen) continue;
    seen = value;
    *answer = value;
  }
}

Times measure_bus(uint32_t num_rounds) {
  Words* words = nullptr;
  TUTTI_CUDA_CHECK(cudaHostAlloc(&words, sizeof(Words), cudaHostAllocMapped));
  *words = {};
  cudaStream_t stream = nullptr;
  TUTTI_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  echo<<<1, 1, 0, stream>>>(words, num_rounds);
  TUTTI_CUDA_CHECK(cudaGetLastError());
  std::atomic_ref<uint32_t> question(words->to_kernel);
  const std::atomic_ref<uint32_t> answer(words->to_host);
  std::vector<double> times;
  for (uint32_t i = 1; i <= num_rounds; ++i) {
    const double begin = now_us();
    question.store(i, std::memory_order_release);
    // Liveness: the kernel answers; and the program gives up after a second.
    while (answer.load(std::memory_order_acquire) != i) {
      if (now_us() - begin > 1e6) die("the kernel that echoes does not answer");
    }
    if (i > 20) times.push_back(now_us() - begin);
  }
  TUTTI_CUDA_CHECK(cudaStreamSynchronize(stream));
  TUTTI_CUDA_CHECK(cudaStreamDestroy(stream));
  TUTTI_CUDA_CHECK(cudaFreeHost(words));
  return times_of(std::move(times));
}

// --- one member ---

void print_times(const char* what, const Times& times) {
  std::printf("%-52s p50 %7.2f   p99 %7.2f   mean %7.2f us\n", what, times.p50, times.p99,
              times.mean);
}

uint64_t measure_one_member(double seconds) {
  DeviceRanks ranks(1);
  DeviceCollective what = ranks.load({CollectiveKind::kAllReduce, "pull_all", 2});
  RankData data(0, 1, 2);
  uint64_t id = 1;
  const auto submit = [&] { return ranks.submit(0, what, id++, data.input(), data.output()); };
  const auto agree = [](uint64_t value) { return value; };

  begin_phase("operations of one member, one after the other");
  ranks.wait(0, submit());
  engine::cuda::Stages before = stages_of(ranks);
  uint64_t first_id = id;
  std::vector<double> submit_us;
  const auto times = time_calls(seconds / 2, kMostCalls, agree, [&] {
    const double begin = now_us();
    const auto ticket = submit();
    submit_us.push_back(now_us() - begin);
    ranks.wait(0, ticket);
  });
  print_times("an operation of one member, from call to end", times_of(times));
  print_times("  of that, the call itself: writing the submission", times_of(submit_us));
  print_stages(ranks, before, id - first_id);

  begin_phase("operations of one member, many under way");
  std::vector<engine::cuda::Daemon::Ticket> tickets;
  const auto wait_for_all = [&] {
    for (const auto& ticket : tickets) ranks.wait(0, ticket);
    tickets.clear();
  };
  // Memory for so many at once is taken the first time.
  for (uint32_t i = 0; i < kUnderWay; ++i) tickets.push_back(submit());
  wait_for_all();
  before = stages_of(ranks);
  first_id = id;
  const double us = time_behind(
      seconds / 2, kMostCalls, agree,
      [&] {
        if (tickets.size() == kUnderWay) wait_for_all();
        tickets.push_back(submit());
      },
      wait_for_all);
  std::printf("%-52s mean %6.2f us\n", "the same, 256 under way: each takes leader or host", us);
  print_stages(ranks, before, id - first_id);
  return data.num_wrong();
}

// --- switches ---

enum class Way : uint8_t { kAlone, kOneOrder, kLatin };
constexpr Way kWays[] = {Way::kAlone, Way::kOneOrder, Way::kLatin};

const char* name_of(Way way) {
  switch (way) {
    case Way::kAlone: return "rings of 16 KiB, one after the other";
    case Way::kOneOrder: return "16 rings under way, one order";
    case Way::kLatin: return "16 rings under way, no two ranks in one order";
  }
  return "";
}

struct Switching {
  double operation_us = 0;
  double switches = 0;  // of an operation, on the first rank
};

class Rings {
 public:
  explicit Rings(DeviceRanks& ranks)
      : ranks_(ranks), what_(ranks.load({CollectiveKind::kAllReduce, "ring", kElems})) {
    for (uint32_t i = 0; i < kSwitched; ++i) {
      data_.push_back(data_of_ranks(ranks.num_ranks(), kElems, i));
    }
  }

  Switching measure(Way way, double seconds) {
    begin_phase(name_of(way));
    Switching out;
    uint64_t num_operations = 0;
    const engine::cuda::Stages before = stages_of(ranks_);
    ranks_.run([&](uint32_t r, std::barrier<>& all) {
      uint64_t id = first_id_;
      uint64_t switches = 0;
      all.arrive_and_wait();
      const auto times = time_calls(
          seconds, kMostCalls / kSwitched,
          [&](uint64_t value) { return agreement_(r, all, value); },
          [&] { switches += run_round(way, r, id); });
      if (r != 0) return;
      num_operations = id - first_id_;
      out.operation_us = times_of(times).p50 / kSwitched;
      out.switches = static_cast<double>(switches) / static_cast<double>(num_operations);
    });
    first_id_ += num_operations;
    std::printf("%-52s p50 %7.2f us, %.2f switches an operation\n", name_of(way), out.operation_us,
                out.switches);
    print_stages(ranks_, before, num_operations);
    return out;
  }
  [[nodiscard]] uint64_t num_wrong() const {
    uint64_t wrong = 0;
    for (const auto& one : data_) wrong += num_wrong_of(one);
    return wrong;
  }

 private:
  static constexpr uint64_t kElems = 4096;

  // How many switches there were.
  uint64_t run_round(Way way, uint32_t rank, uint64_t& id) {
    engine::cuda::Daemon::Ticket tickets[kSwitched];
    uint64_t switches = 0;
    const auto wait_for = [&](const engine::cuda::Daemon::Ticket& ticket) {
      ranks_.wait(rank, ticket);
      // Above the outcome; it stays there until this rank calls again.
      switches += ticket.slot.completion->outcome >> engine::cuda::kSwitchShift;
    };
    const uint32_t shift = way == Way::kLatin ? rank * kSwitched / ranks_.num_ranks() : 0;
    for (uint32_t i = 0; i < kSwitched; ++i) {
      const uint32_t place = (i + shift) % kSwitched;
      const RankData& data = *data_[place][rank];
      tickets[i] = ranks_.submit(rank, what_, id + place, data.input(), data.output());
      if (way == Way::kAlone) wait_for(tickets[i]);
    }
    if (way != Way::kAlone) {
      for (const auto& ticket : tickets) wait_for(ticket);
    }
    id += kSwitched;
    return switches;
  }

  DeviceRanks& ranks_;
  DeviceCollective what_;
  std::vector<std::vector<std::unique_ptr<RankData>>> data_;  // by operation, then by rank
  Agreement agreement_;
  uint64_t first_id_ = 1;
};

uint64_t measure_switches(uint32_t num_ranks, double seconds) {
  begin_phase("making daemons for rings");
  DeviceRanks ranks(num_ranks);
  Rings rings(ranks);
  Switching seen[std::size(kWays)];
  for (const Way way : kWays) {
    seen[static_cast<size_t>(way)] = rings.measure(way, seconds / std::size(kWays));
  }
  const Switching& one = seen[static_cast<size_t>(Way::kOneOrder)];
  const Switching& any = seen[static_cast<size_t>(Way::kLatin)];
  const double more = any.switches - one.switches;
  if (more > 0.1) {
    std::printf("a switch, at most: %.2f us (what operations take longer, by how many more)\n",
                (any.operation_us - one.operation_us) / more);
  } else {
    std::printf("a switch: orders make no difference in how many there are\n");
  }
  return rings.num_wrong();
}

int run(const Options& options) {
  begin_phase("the bus");
  TUTTI_CUDA_CHECK(cudaSetDevice(0));
  std::printf("queue costs; stages of the leader in ns for an operation (and how often)\n");
  print_times("the bus: a word to a kernel and one back", measure_bus(5000));
  uint64_t num_wrong = measure_one_member(options.seconds / 2);
  std::printf("%u ranks\n", options.num_ranks);
  num_wrong += measure_switches(options.num_ranks, options.seconds / 2);
  std::printf("#wrong %lu\n", num_wrong);
  begin_phase("the end");
  return num_wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) { return tutti::bench::run(tutti::bench::begin(argc, argv, {})); }
