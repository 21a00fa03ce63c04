// Units: the pieces of a tile that a GPU thread loads and stores at once. Here is which units a
// fold has, how a batch of them is loaded and stored, and how a unit becomes numbers and back.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "engine/cuda/fold.h"
#include "engine/cuda/ptx.cuh"

namespace tutti::engine {

// The middle of a tile: units at which all of its pointers are aligned.
struct Units {
  uint64_t offset;  // in bytes
  uint64_t num;
  uint32_t bytes;  // of a unit
};

// What most reductions are of.
__host__ __device__ constexpr bool is_common(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat16 || type == DataType::kBFloat16;
}

// Rare folds are not worth loops of their own: integers that are averaged or scaled, and uncommon
// types at addresses that are not alike.
__device__ __forceinline__ bool is_rare(const Fold& fold, uint32_t unit_bytes) {
  const auto type = static_cast<DataType>(fold.type);
  if (is_copy(fold)) return false;
  if (is_integer(type) && (fold.is_scaled != 0 || fold.divisor != 0)) return true;
  return unit_bytes != sizeof(uint4) && !is_common(type);
}

// Bits in which the addresses are unlike.
__device__ __forceinline__ uintptr_t unlike_bits(const Fold& fold) {
  const auto first = reinterpret_cast<uintptr_t>(fold.sources[0]);
  uintptr_t unlike = 0;
  for (uint32_t s = 1; s < fold.num_sources; ++s) {
    unlike |= reinterpret_cast<uintptr_t>(fold.sources[s]) ^ first;
  }
  for (uint32_t d = 0; d < fold.num_dsts; ++d) {
    unlike |= reinterpret_cast<uintptr_t>(fold.dsts[d]) ^ first;
  }
  return unlike;
}

// Of 16 bytes if the addresses are alike in that; else as large as can be for copies, and elements
// for all others. None for elements that are not aligned to their own size.
__device__ __forceinline__ Units units_of(const Fold& fold) {
  const auto elem_bytes = static_cast<uint32_t>(size_of(static_cast<DataType>(fold.type)));
  const uintptr_t unlike = unlike_bits(fold) | sizeof(uint4);
  const auto common = static_cast<uint32_t>(unlike & -unlike);
  const uint32_t bytes = common == sizeof(uint4) || is_copy(fold) ? common : elem_bytes;
  const uint64_t offset = -reinterpret_cast<uintptr_t>(fold.sources[0]) % bytes;
  const bool is_whole = common >= elem_bytes && offset % elem_bytes == 0;
  if (!is_whole || is_rare(fold, bytes) || fold.bytes < offset) return {0, 0, bytes};
  return {offset, (fold.bytes - offset) / bytes, bytes};
}

// A thread's share: the units first, first + stride, ...
struct Share {
  Units units;
  uint32_t first, stride;
};

__device__ __forceinline__ void load_unit(uint4& unit, const std::byte* from) {
  unit = ptx::load_16(from);
}
template <std::integral Unit>
__device__ __forceinline__ void load_unit(Unit& unit, const std::byte* from) {
  unit = *reinterpret_cast<const volatile Unit*>(from);
}

// NumUnits units of a source or a result, the stride apart. Those beyond the end are not touched,
// and zero: registers left as they were would be occupied from the last time round the loop on.
template <class Unit, int NumUnits>
struct Batch {
  Unit units[NumUnits];

  __device__ __forceinline__ void load(const std::byte* source, const Share& share, uint64_t at) {
    const std::byte* from = source + share.units.offset;
#pragma unroll
    for (int u = 0; u < NumUnits; ++u) {
      const uint64_t unit = at + u * uint64_t{share.stride};
      units[u] = Unit{};
      if (unit < share.units.num) load_unit(units[u], from + unit * sizeof(Unit));
    }
  }
  __device__ __forceinline__ void store(std::byte* dst, const Share& share, uint64_t at) const {
    std::byte* to = dst + share.units.offset;
#pragma unroll
    for (int u = 0; u < NumUnits; ++u) {
      const uint64_t unit = at + u * uint64_t{share.stride};
      if (unit < share.units.num) *reinterpret_cast<Unit*>(to + unit * sizeof(Unit)) = units[u];
    }
  }
};

template <class T, class Unit>
struct Elements {
  static constexpr int kNum = sizeof(Unit) / sizeof(T);
  T at[kNum];
};

template <class T, class Unit>
struct Numbers {
  using Several = Elements<T, Unit>;
  NumberOf<T> at[Several::kNum];

  __device__ __forceinline__ void set(const Unit& unit) {
    const auto elements = std::bit_cast<Several>(unit);
#pragma unroll
    for (int i = 0; i < Several::kNum; ++i) at[i] = to_number(elements.at[i]);
  }
  template <Op Operator>
  __device__ __forceinline__ void combine(const Unit& unit) {
    const auto elements = std::bit_cast<Several>(unit);
#pragma unroll
    for (int i = 0; i < Several::kNum; ++i) {
      at[i] = combined(Operator, at[i], to_number(elements.at[i]));
    }
  }
  __device__ __forceinline__ Unit rounded(uint64_t divisor) const {
    Several elements;
#pragma unroll
    for (int i = 0; i < Several::kNum; ++i) elements.at[i] = to_element<T>(at[i]);
    if (!std::integral<T> && divisor != 0) {
#pragma unroll
      for (int i = 0; i < Several::kNum; ++i) elements.at[i] = divided(elements.at[i], divisor);
    }
    return std::bit_cast<Unit>(elements);
  }
};

}  // namespace tutti::engine
