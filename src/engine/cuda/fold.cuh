// A fold by a group of GPU threads: what fold_elements() does, as fast as the memory is. No
// barriers, no shared memory; pointers are to global memory.
//
// Memory is fast only while many loads are under way: some 64 KiB in a multiprocessor. So a thread
// takes several units at once, issues all their loads, and only then looks at the first. For sums
// of the common types that goes for all sources too, whose number is then known to the compiler
// (fold_sums); else the loads of one source are under way while the one before is added
// (fold_any). A unit is stored after it was loaded from every source, as in-place folds need.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "engine/cuda/fold.h"
#include "engine/cuda/units.cuh"

namespace tutti::engine {

template <class Unit, int NumUnits>
__device__ __forceinline__ void copy_units(const Fold& fold, const Share& share) {
  for (uint64_t at = share.first; at < share.units.num; at += NumUnits * uint64_t{share.stride}) {
    Batch<Unit, NumUnits> batch;
    batch.load(fold.sources[0], share, at);
    for (uint32_t d = 0; d < fold.num_dsts; ++d) batch.store(fold.dsts[d], share, at);
  }
}

template <class T, int NumSources, int NumUnits>
__device__ __forceinline__ void fold_sums(const Fold& fold, const Share& share) {
  const std::byte* sources[NumSources];
#pragma unroll
  for (int s = 0; s < NumSources; ++s) sources[s] = fold.sources[s];
  for (uint64_t at = share.first; at < share.units.num; at += NumUnits * uint64_t{share.stride}) {
    Batch<uint4, NumUnits> loaded[NumSources];
#pragma unroll
    for (int s = 0; s < NumSources; ++s) loaded[s].load(sources[s], share, at);
#pragma unroll
    for (int u = 0; u < NumUnits; ++u) {
      Numbers<T, uint4> sums;
      sums.set(loaded[0].units[u]);
#pragma unroll
      for (int s = 1; s < NumSources; ++s) sums.template combine<Op::kSum>(loaded[s].units[u]);
      loaded[0].units[u] = sums.rounded(fold.divisor);
    }
    for (uint32_t d = 0; d < fold.num_dsts; ++d) loaded[0].store(fold.dsts[d], share, at);
  }
}

// Whether there was a loop for this number of sources.
template <class T>
__device__ __forceinline__ bool fold_common_sums(const Fold& fold, const Share& share) {
  switch (fold.num_sources) {
    case 2: fold_sums<T, 2, 4>(fold, share); return true;
    case 4: fold_sums<T, 4, 2>(fold, share); return true;
    case 8: fold_sums<T, 8, 1>(fold, share); return true;
  }
  return false;
}

template <Op Operator, class T, class Unit, int NumUnits>
__device__ __forceinline__ void combine_batch(Numbers<T, Unit> (&sums)[NumUnits],
                                              const Batch<Unit, NumUnits>& batch) {
#pragma unroll
  for (int u = 0; u < NumUnits; ++u) sums[u].template combine<Operator>(batch.units[u]);
}

// The operator is chosen once a batch: that costs little, and loops for each of them much.
template <class T, class Unit, int NumUnits>
__device__ __forceinline__ void combine_batch(Op op, Numbers<T, Unit> (&sums)[NumUnits],
                                              const Batch<Unit, NumUnits>& batch) {
  switch (op) {
    case Op::kSum:
    case Op::kAvg:
    case Op::kPremulSum: return combine_batch<Op::kSum>(sums, batch);
    case Op::kProd: return combine_batch<Op::kProd>(sums, batch);
    case Op::kMin: return combine_batch<Op::kMin>(sums, batch);
    case Op::kMax: return combine_batch<Op::kMax>(sums, batch);
    case Op::kBitAnd: return combine_batch<Op::kBitAnd>(sums, batch);
    case Op::kBitOr: return combine_batch<Op::kBitOr>(sums, batch);
    case Op::kBitXor: return combine_batch<Op::kBitXor>(sums, batch);
  }
}

template <class T, class Unit, int NumUnits>
__device__ __forceinline__ void scale_batch(Batch<Unit, NumUnits>& batch, double factor) {
  using Several = Elements<T, Unit>;
#pragma unroll
  for (int u = 0; u < NumUnits; ++u) {
    auto elements = std::bit_cast<Several>(batch.units[u]);
#pragma unroll
    for (int i = 0; i < Several::kNum; ++i) elements.at[i] = scaled(elements.at[i], factor);
    batch.units[u] = std::bit_cast<Unit>(elements);
  }
}

template <class T, class Unit, int NumUnits>
__device__ __forceinline__ void fold_any(const Fold& fold, const Share& share) {
  const bool is_scaled = !std::integral<T> && fold.is_scaled != 0;
  for (uint64_t at = share.first; at < share.units.num; at += NumUnits * uint64_t{share.stride}) {
    Batch<Unit, NumUnits> batch;
    Batch<Unit, NumUnits> next{};
    batch.load(fold.sources[0], share, at);
    if (fold.num_sources > 1) next.load(fold.sources[1], share, at);
    if (is_scaled) scale_batch<T>(batch, fold.factors[0]);
    Numbers<T, Unit> sums[NumUnits];
#pragma unroll
    for (int u = 0; u < NumUnits; ++u) sums[u].set(batch.units[u]);
    for (uint32_t s = 1; s < fold.num_sources; ++s) {
      batch = next;
      if (s + 1 < fold.num_sources) next.load(fold.sources[s + 1], share, at);
      if (is_scaled) scale_batch<T>(batch, fold.factors[s]);
      combine_batch(static_cast<Op>(fold.op), sums, batch);
    }
#pragma unroll
    for (int u = 0; u < NumUnits; ++u) batch.units[u] = sums[u].rounded(fold.divisor);
    for (uint32_t d = 0; d < fold.num_dsts; ++d) batch.store(fold.dsts[d], share, at);
  }
}

__device__ __forceinline__ bool is_plain_sum(const Fold& fold) {
  const auto op = static_cast<Op>(fold.op);
  return fold.is_scaled == 0 && (op == Op::kSum || op == Op::kAvg || op == Op::kPremulSum);
}

__device__ __forceinline__ void copy_any(const Fold& fold, const Share& share) {
  switch (share.units.bytes) {
    case 16: return copy_units<uint4, 8>(fold, share);
    case 8: return copy_units<uint64_t, 8>(fold, share);
    case 4: return copy_units<uint32_t, 8>(fold, share);
    case 2: return copy_units<uint16_t, 8>(fold, share);
    case 1: return copy_units<uint8_t, 8>(fold, share);
  }
}

__device__ __forceinline__ void fold_units(const Fold& fold, const Share& share) {
  if (is_copy(fold)) return copy_any(fold, share);
  const auto type = static_cast<DataType>(fold.type);
  const bool is_wide = share.units.bytes == sizeof(uint4);
  if (is_wide && is_plain_sum(fold)) {
    if (type == DataType::kFloat32 && fold_common_sums<float>(fold, share)) return;
    if (type == DataType::kFloat16 && fold_common_sums<Float16>(fold, share)) return;
    if (type == DataType::kBFloat16 && fold_common_sums<BFloat16>(fold, share)) return;
  }
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    // Registers: narrow numbers take more than their bytes, and the division of doubles many.
    if (is_wide) return fold_any<T, uint4, (sizeof(T) == 4 ? 4 : 2)>(fold, share);
    if constexpr (is_common(data_type_of<T>)) fold_any<T, BitsOf<sizeof(T)>, 8>(fold, share);
  });
}

// All num_threads threads of a group call it, each with its number; each moves its share. What
// other threads wrote must have been waited for before, and what this one writes is not published.
__device__ __forceinline__ void fold_by_threads(const Fold& fold, uint32_t thread,
                                                uint32_t num_threads) {
  const Units units = units_of(fold);
  if (units.num > 0) fold_units(fold, Share{units, thread, num_threads});
  const uint64_t elem_bytes = size_of(static_cast<DataType>(fold.type));
  const Gap gap{units.offset / elem_bytes, units.num * units.bytes / elem_bytes};
  fold_around(fold, gap, thread, num_threads);
}

}  // namespace tutti::engine
