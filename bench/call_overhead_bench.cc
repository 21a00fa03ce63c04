// What a call costs a rank besides waiting: two ranks play their parts in one thread, so that no
// time passes between a message and its arrival. One iteration is a call on each of them.
#include <benchmark/benchmark.h>
#include <tutti/tutti.h>

#include <vector>

namespace {

void finish(tutti::Work& one, tutti::Work& other) {
  // Liveness: each test runs a rank as far as it goes, so one of the two can always go on.
  for (bool over = false; !over;) {
    const bool first = one.test();
    over = other.test() && first;
  }
  one.wait().value();
  other.wait().value();
}

void all_reduce(benchmark::State& state) {
  auto ranks = tutti::Communicator::threads(2).value();
  std::vector<float> first(static_cast<size_t>(state.range(0)) / sizeof(float), 1);
  std::vector<float> second = first;
  for (auto _ : state) {
    auto one = ranks[0].all_reduce(std::span(first));
    auto other = ranks[1].all_reduce(std::span(second));
    finish(one, other);
  }
}

void barrier(benchmark::State& state) {
  auto ranks = tutti::Communicator::threads(2).value();
  for (auto _ : state) {
    auto one = ranks[0].barrier();
    auto other = ranks[1].barrier();
    finish(one, other);
  }
}

// The root returns at once: it waits for nobody.
void broadcast(benchmark::State& state) {
  auto ranks = tutti::Communicator::threads(2).value();
  std::vector<float> first(static_cast<size_t>(state.range(0)) / sizeof(float), 1);
  std::vector<float> second = first;
  for (auto _ : state) {
    auto one = ranks[0].broadcast(std::span(first));
    auto other = ranks[1].broadcast(std::span(second));
    finish(one, other);
  }
}

BENCHMARK(broadcast)->Arg(8)->Arg(4096);
BENCHMARK(all_reduce)->Arg(8)->Arg(256)->Arg(4096)->Arg(65536);
BENCHMARK(barrier);

}  // namespace

BENCHMARK_MAIN();
