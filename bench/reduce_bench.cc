// How fast one core combines elements: GB/s over all bytes read and written, and the time of a
// call with a single element.
//
//   reduce_bench [--benchmark_filter=PATTERN]
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "engine/cpu/reduce.h"

namespace {

using namespace tutti;
using namespace tutti::engine;

// Bytes of one operand, with the alignment that an allocator of large blocks gives, and written
// to, so that it has pages.
class Operand {
 public:
  explicit Operand(size_t bytes) : data_(::operator new(bytes, kAlignment)) {
    std::memset(data_, 0, bytes);
  }
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;
  ~Operand() { ::operator delete(data_, kAlignment); }
  [[nodiscard]] void* data() const { return data_; }

 private:
  static constexpr std::align_val_t kAlignment{4096};
  void* data_;
};

void count_bytes(benchmark::State& state, size_t operands) {
  state.SetBytesProcessed(state.iterations() * state.range(0) * static_cast<int64_t>(operands));
}

void in_place(benchmark::State& state, DataType type) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const Operand a(bytes);
  const Operand b(bytes);
  const ReduceFn reduce = reduce_function(type, Op::kSum);
  for (auto _ : state) reduce(a.data(), a.data(), b.data(), bytes / size_of(type));
  count_bytes(state, 3);
}

void apart(benchmark::State& state, DataType type, Stores stores) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const Operand a(bytes);
  const Operand b(bytes);
  const Operand c(bytes);
  const ReduceFn reduce = reduce_function(type, Op::kSum, stores);
  for (auto _ : state) reduce(c.data(), a.data(), b.data(), bytes / size_of(type));
  count_bytes(state, 3);
}

void folded(benchmark::State& state, DataType type, size_t num_sources) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const Operand all(bytes * num_sources);
  const Operand dst(bytes);
  std::vector<const void*> sources;
  for (size_t s = 0; s < num_sources; ++s) {
    sources.push_back(static_cast<const std::byte*>(all.data()) + s * bytes);
  }
  const FoldFn fold = fold_function(type, Op::kSum);
  for (auto _ : state) fold(dst.data(), sources.data(), num_sources, bytes / size_of(type));
  count_bytes(state, num_sources + 1);
}

void copied(benchmark::State& state, void (*function)(void*, const void*, size_t) noexcept) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const Operand a(bytes);
  const Operand b(bytes);
  for (auto _ : state) function(a.data(), b.data(), bytes);
  count_bytes(state, 2);
}

void averaged(benchmark::State& state, DataType type) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const Operand a(bytes);
  for (auto _ : state) divide(type, a.data(), bytes / size_of(type), 3);
  count_bytes(state, 2);
}

void few_elements(benchmark::State& state, DataType type) {
  const Operand a(64);
  const Operand b(64);
  const ReduceFn reduce = reduce_function(type, Op::kSum);
  const auto elems = static_cast<size_t>(state.range(0));
  for (auto _ : state) reduce(a.data(), a.data(), b.data(), elems);
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  for (const int64_t kib : {4, 32, 256, 1024, 16384}) benchmark->Arg(kib << 10);
  benchmark->Arg(64);
}

constexpr DataType kFloat = DataType::kFloat32;
constexpr DataType kBrain = DataType::kBFloat16;

BENCHMARK_CAPTURE(in_place, float32, kFloat)->Apply(sizes);
BENCHMARK_CAPTURE(apart, float32, kFloat, Stores::kCached)->Apply(sizes);
BENCHMARK_CAPTURE(apart, float32_streaming, kFloat, Stores::kStreaming)->Apply(sizes);
BENCHMARK_CAPTURE(folded, float32_of_2, kFloat, 2)->Apply(sizes);
BENCHMARK_CAPTURE(folded, float32_of_4, kFloat, 4)->Apply(sizes);
BENCHMARK_CAPTURE(folded, float32_of_8, kFloat, 8)->Apply(sizes);
BENCHMARK_CAPTURE(in_place, bfloat16, kBrain)->Apply(sizes);
BENCHMARK_CAPTURE(apart, bfloat16, kBrain, Stores::kCached)->Apply(sizes);
BENCHMARK_CAPTURE(apart, bfloat16_streaming, kBrain, Stores::kStreaming)->Apply(sizes);
BENCHMARK_CAPTURE(folded, bfloat16_of_2, kBrain, 2)->Apply(sizes);
BENCHMARK_CAPTURE(folded, bfloat16_of_4, kBrain, 4)->Apply(sizes);
BENCHMARK_CAPTURE(folded, bfloat16_of_8, kBrain, 8)->Apply(sizes);
BENCHMARK_CAPTURE(in_place, float16, DataType::kFloat16)->Apply(sizes);
BENCHMARK_CAPTURE(in_place, float8_e4m3, DataType::kFloat8E4M3)->Apply(sizes);
BENCHMARK_CAPTURE(averaged, float32, kFloat)->Apply(sizes);
BENCHMARK_CAPTURE(averaged, bfloat16, kBrain)->Apply(sizes);
BENCHMARK_CAPTURE(averaged, int32, DataType::kInt32)->Apply(sizes);
BENCHMARK_CAPTURE(copied, cached, copy)->Apply(sizes);
BENCHMARK_CAPTURE(copied, streaming, copy_streaming)->Apply(sizes);
BENCHMARK_CAPTURE(few_elements, float32, kFloat)->DenseRange(1, 3)->Arg(7);
BENCHMARK_CAPTURE(few_elements, float64, DataType::kFloat64)->Arg(1);
BENCHMARK_CAPTURE(few_elements, bfloat16, kBrain)->DenseRange(1, 3)->Arg(7);
BENCHMARK_CAPTURE(few_elements, float8_e4m3, DataType::kFloat8E4M3)->Arg(1)->Arg(7);
BENCHMARK_CAPTURE(few_elements, int8, DataType::kInt8)->Arg(1)->Arg(8);

}  // namespace

BENCHMARK_MAIN();
