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

// Calls `issue(communicator, buffer)` on both, with buffers of the size that the state names.
template <class Issue>
void call_on_both(benchmark::State& state, const Issue& issue) {
  auto ranks = tutti::Communicator::threads(2).value();
  std::vector<float> first(static_cast<size_t>(state.range(0)) / sizeof(float), 1);
  std::vector<float> second = first;
  for (auto _ : state) {
    auto one = issue(ranks[0], std::span(first));
    auto other = issue(ranks[1], std::span(second));
    finish(one, other);
  }
}

void all_reduce(benchmark::State& state) {
  call_on_both(state, [](auto& comm, auto buffer) { return comm.all_reduce(buffer); });
}
// The root returns at once: it waits for nobody.
void broadcast(benchmark::State& state) {
  call_on_both(state, [](auto& comm, auto buffer) { return comm.broadcast(buffer); });
}
void barrier(benchmark::State& state) {
  call_on_both(state, [](auto& comm, auto /*buffer*/) { return comm.barrier(); });
}

BENCHMARK(broadcast)->Arg(8)->Arg(4096);
BENCHMARK(all_reduce)->Arg(8)->Arg(256)->Arg(4096)->Arg(65536);
BENCHMARK(barrier)->Arg(0);

}  // namespace

BENCHMARK_MAIN();
