// Folds on a GPU against the same folds on this CPU, bit for bit, and their speed. A program of its
// own for a machine with a GPU: it returns 0 if all bits are right.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "engine/cuda/fold.cuh"

namespace {

using namespace tutti;
using namespace tutti::engine;

constexpr uint32_t kThreads = 512;
constexpr uint32_t kSlots = 2 * kMostSources;
constexpr size_t kSlotBytes = 160 << 10;
constexpr uint8_t kGuard = 0xa5;
static_assert(kMostDsts == kMostSources);

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(error));
  std::exit(2);
}
#define CHECKED(call) check(call, #call)

// Tile after tile of a long fold, as blocks of an engine share it.
__global__ void __launch_bounds__(576, 1) run_fold(Fold whole, uint64_t tile_bytes) {
  __shared__ Fold fold;
  const uint64_t step = gridDim.x * tile_bytes;
  for (uint64_t at = blockIdx.x * tile_bytes; at == 0 || at < whole.bytes; at += step) {
    __syncthreads();
    if (threadIdx.x == 0) {
      fold = whole;
      for (auto& source : fold.sources) source += at;
      for (auto& dst : fold.dsts) dst += at;
      fold.bytes = whole.bytes - at < tile_bytes ? whole.bytes - at : tile_bytes;
    }
    __syncthreads();
    fold_by_threads(fold, threadIdx.x, blockDim.x);
  }
}

struct Case {
  DataType type = DataType::kFloat32;
  Op op = Op::kSum;
  uint32_t num_sources = 1, num_dsts = 1;
  uint64_t elems = 0;
  uint64_t shift = 0;        // of every pointer, in bytes, from a multiple of 256
  uint64_t shift_apart = 0;  // more for every pointer than for the one before
  bool in_place = false;
  uint64_t divisor = 0;
  bool is_scaled = false;
  bool all_patterns = false;  // element i has the bits i; else any
};

// Slots for sources, then for destinations, at the same places in either memory.
class Bench {
 public:
  Bench() : made_(kSlots * kSlotBytes), expected_(made_.size()), got_(made_.size()) {
    CHECKED(cudaMalloc(&device_, made_.size()));
  }

  bool passes(const Case& c) {
    const size_t used = c.elems * size_of(c.type) + 512;
    fill(c, used);
    CHECKED(cudaMemcpy2D(device_, kSlotBytes, made_.data(), kSlotBytes, used, kSlots,
                         cudaMemcpyHostToDevice));
    run_fold<<<1, kThreads>>>(fold_at(c, device_), kSlotBytes);
    CHECKED(cudaGetLastError());
    CHECKED(cudaMemcpy2D(got_.data(), kSlotBytes, device_, kSlotBytes, used, kSlots,
                         cudaMemcpyDeviceToHost));
    for (size_t slot = 0; slot < made_.size(); slot += kSlotBytes) {
      std::memcpy(&expected_[slot], &made_[slot], used);
    }
    fold_elements(fold_at(c, expected_.data()), 0, 1);
    return equal(c, used);
  }

 private:
  static size_t offset_of(const Case& c, uint32_t slot) {
    return slot * kSlotBytes + 256 + c.shift + (slot + slot / kMostSources) * c.shift_apart % 64;
  }
  static Fold fold_at(const Case& c, std::byte* arena) {
    Fold fold{};
    for (uint32_t s = 0; s < kMostSources; ++s) {
      fold.sources[s] = arena + offset_of(c, s);
      fold.dsts[s] = arena + offset_of(c, kMostSources + s);
      fold.factors[s] = 0.37 * s - 1;
    }
    if (c.in_place) fold.dsts[0] = const_cast<std::byte*>(fold.sources[c.num_sources / 2]);
    fold.bytes = c.elems * size_of(c.type);
    fold.divisor = c.divisor;
    fold.num_sources = static_cast<uint8_t>(c.num_sources);
    fold.num_dsts = static_cast<uint8_t>(c.num_dsts);
    fold.type = static_cast<uint8_t>(c.type);
    fold.op = static_cast<uint8_t>(c.op);
    fold.is_scaled = c.is_scaled ? 1 : 0;
    return fold;
  }

  void fill(const Case& c, size_t used) {
    for (size_t slot = 0; slot < made_.size(); slot += kSlotBytes) {
      std::memset(&made_[slot], kGuard, used);
    }
    const Fold fold = fold_at(c, made_.data());
    for (uint32_t s = 0; s < c.num_sources; ++s) {
      auto* to = const_cast<std::byte*>(fold.sources[s]);
      for (uint64_t i = 0; i < c.elems; ++i) fill_element(c, s, i, to + i * size_of(c.type));
    }
  }
  void fill_element(const Case& c, uint32_t source, uint64_t i, std::byte* to) {
    const uint64_t random = random_();
    const uint64_t other = size_of(c.type) == 1 ? i >> 8 : i * 40503 + source;
    const uint64_t bits = !c.all_patterns ? random : source == 0 ? i : other;
    std::memcpy(to, &bits, size_of(c.type));
    // Every other float is near the rest, so that sums have digits to round.
    if (c.all_patterns || is_integer(c.type) || random % 2 == 0) return;
    const float number = static_cast<float>(static_cast<int32_t>(random >> 32)) / (1 << 28);
    with_type(c.type, [&](auto zero) { store_element(to, static_cast<decltype(zero)>(number)); });
  }

  // All bytes of all slots; of two NaN in a result one is as good as the other.
  bool equal(const Case& c, size_t used) const {
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      const size_t begin = slot * kSlotBytes;
      if (std::memcmp(&got_[begin], &expected_[begin], used) == 0) continue;
      if (!equal_but_for_nan(c, slot, used)) {
        std::printf("slot %u differs\n", slot);
        return false;
      }
    }
    return true;
  }
  bool equal_but_for_nan(const Case& c, uint32_t slot, size_t used) const {
    const size_t begin = offset_of(c, slot);
    const size_t end = begin + c.elems * size_of(c.type);
    const size_t slot_begin = slot * kSlotBytes;
    if (std::memcmp(&got_[slot_begin], &expected_[slot_begin], begin - slot_begin) != 0)
      return false;
    if (std::memcmp(&got_[end], &expected_[end], slot_begin + used - end) != 0) return false;
    for (size_t at = begin; at < end; at += size_of(c.type)) {
      if (!same_element(c, at)) return false;
    }
    return true;
  }
  bool same_element(const Case& c, size_t at) const {
    if (std::memcmp(&got_[at], &expected_[at], size_of(c.type)) == 0) return true;
    bool both_nan = false;
    with_type(c.type, [&](auto zero) {
      using T = decltype(zero);
      const auto a = to_number(load_element<T>(&got_[at]));
      const auto b = to_number(load_element<T>(&expected_[at]));
      both_nan = a != a && b != b;
    });
    return both_nan;
  }

  std::vector<std::byte> made_, expected_, got_;
  std::byte* device_ = nullptr;
  std::mt19937_64 random_{1};
};

class Tests {
 public:
  void run(const Case& c) {
    ++num_;
    if (bench_.passes(c)) return;
    if (++num_failed_ > 40) return;
    std::printf(
        "WRONG: type %d op %d, %u -> %u, %llu elements, shift %llu + %llu, in place %d, "
        "divisor %llu, scaled %d, presence %d\n",
        static_cast<int>(c.type), static_cast<int>(c.op), c.num_sources, c.num_dsts,
        static_cast<unsigned long long>(c.elems), static_cast<unsigned long long>(c.shift),
        static_cast<unsigned long long>(c.shift_apart), c.in_place,
        static_cast<unsigned long long>(c.divisor), c.is_scaled, c.all_patterns);
  }
  void run_at_all_places(Case c) {
    const uint64_t size = size_of(c.type);
    struct Place {
      uint64_t shift, apart;
    };
    for (const Place place : {Place{0, 0}, Place{size, 0}, Place{16 - size, 0}, Place{0, size},
                              Place{1, 0}, Place{3, 1}}) {
      for (const uint64_t elems : {0, 1, 7, 31, 997, 9973}) {
        if (elems > 1000 && place.apart != 0) continue;
        c.shift = place.shift;
        c.shift_apart = place.apart;
        c.elems = elems;
        run(c);
      }
    }
  }
  void run_type_and_op(DataType type, Op op) {
    for (const uint32_t num_sources : {1U, 2U, 3U, 4U, 8U, 9U}) {
      Case c{type, op, num_sources, 1 + num_sources / 2};
      c.in_place = num_sources % 2 == 0;
      c.divisor = op == Op::kAvg ? num_sources + 1 : 0;
      c.is_scaled = op == Op::kPremulSum;
      run_at_all_places(c);
    }
    Case all{type, op, 2, 2, 65536};
    all.all_patterns = true;
    all.divisor = op == Op::kAvg ? 3 : 0;
    all.is_scaled = op == Op::kPremulSum;
    if (size_of(type) <= 2) run(all);
  }
  int finish() const {
    std::printf("%d folds, %d wrong\n", num_, num_failed_);
    return num_failed_ == 0 ? 0 : 1;
  }

 private:
  Bench bench_;
  int num_ = 0, num_failed_ = 0;
};

struct Speed {
  const char* name;
  DataType type;
  uint32_t num_sources, num_dsts;
  uint32_t num_blocks;
  uint64_t tile_bytes;
  uint64_t shift_apart;
};

// In place, as the steps of an all-reduce are: destination i is source i.
void measure(const Speed& speed, std::byte* arena, uint64_t bytes) {
  Fold fold{};
  for (uint32_t s = 0; s < 8; ++s) {
    fold.sources[s] = arena + s * (bytes + 4096) + s * speed.shift_apart;
    fold.dsts[s] = const_cast<std::byte*>(fold.sources[s]);
  }
  if (speed.num_sources == 1) fold.dsts[0] = fold.dsts[1];
  fold.bytes = bytes;
  fold.num_sources = static_cast<uint8_t>(speed.num_sources);
  fold.num_dsts = static_cast<uint8_t>(speed.num_dsts);
  fold.type = static_cast<uint8_t>(speed.type);
  constexpr int kRuns = 4;
  cudaEvent_t begin;
  cudaEvent_t end;
  CHECKED(cudaEventCreate(&begin));
  CHECKED(cudaEventCreate(&end));
  run_fold<<<speed.num_blocks, kThreads>>>(fold, speed.tile_bytes);
  CHECKED(cudaEventRecord(begin));
  for (int i = 0; i < kRuns; ++i) run_fold<<<speed.num_blocks, kThreads>>>(fold, speed.tile_bytes);
  CHECKED(cudaEventRecord(end));
  CHECKED(cudaEventSynchronize(end));
  float ms = 0;
  CHECKED(cudaEventElapsedTime(&ms, begin, end));
  const double moved = static_cast<double>(speed.num_sources + speed.num_dsts) * kRuns * bytes;
  std::printf("%-14s %u -> %u  %3u blocks  tiles of %4llu KiB  %7.1f GB/s\n", speed.name,
              speed.num_sources, speed.num_dsts, speed.num_blocks,
              static_cast<unsigned long long>(speed.tile_bytes >> 10), moved / ms / 1e6);
  CHECKED(cudaEventDestroy(begin));
  CHECKED(cudaEventDestroy(end));
}

void measure_all() {
  constexpr uint64_t kBytes = 128 << 20;
  std::byte* arena = nullptr;
  CHECKED(cudaMalloc(&arena, 8 * (kBytes + 4096) + 4096));
  CHECKED(cudaMemset(arena, 0, 8 * (kBytes + 4096) + 4096));
  for (const uint32_t blocks : {16U, 32U, 132U}) {
    for (const uint64_t tile : {32U << 10, 128U << 10, 1U << 20}) {
      measure({"copy", DataType::kFloat32, 1, 1, blocks, tile, 0}, arena, kBytes);
      for (const uint32_t num : {2U, 4U, 8U}) {
        measure({"float32", DataType::kFloat32, num, num, blocks, tile, 0}, arena, kBytes);
      }
    }
    for (const uint32_t num : {2U, 3U, 8U}) {
      measure({"float16", DataType::kFloat16, num, 1, blocks, 128 << 10, 0}, arena, kBytes);
      measure({"bfloat16", DataType::kBFloat16, num, 1, blocks, 128 << 10, 0}, arena, kBytes);
      measure({"float8_e4m3", DataType::kFloat8E4M3, num, 1, blocks, 128 << 10, 0}, arena, kBytes);
      measure({"int32", DataType::kInt32, num, 1, blocks, 128 << 10, 0}, arena, kBytes);
    }
    measure({"copy unlike", DataType::kFloat32, 1, 1, blocks, 128 << 10, 4}, arena, kBytes);
    measure({"float32 unlike", DataType::kFloat32, 2, 1, blocks, 128 << 10, 4}, arena, kBytes);
    measure({"float16 unlike", DataType::kFloat16, 2, 1, blocks, 128 << 10, 2}, arena, kBytes);
  }
  CHECKED(cudaFree(arena));
}

}  // namespace

int main() {
  Tests tests;
  for (int type = 0; type < kNumDataTypes; ++type) {
    for (int op = 0; op < kNumOps; ++op) {
      const auto t = static_cast<DataType>(type);
      const auto o = static_cast<Op>(op);
      if (valid(t, o)) tests.run_type_and_op(t, o);
    }
  }
  const int failed = tests.finish();
  measure_all();
  return failed;
}
