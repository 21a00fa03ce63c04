// What the GPU engine does to data: a tile of several sources is combined into several
// destinations. fold_elements() says what that means, one element after the other, for CPUs and
// GPUs; fold.cuh does the same fast.
//
// The bits are those of engine/cpu/reduce.h: FoldFn on what scale() made of each source, then
// divide(). A destination may be exactly one of the sources; nothing else may overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "engine/both.h"
#include "engine/cuda/elements.h"
#include "tutti/data_type.h"

namespace tutti::engine {

inline constexpr uint32_t kMostSources = 16;
inline constexpr uint32_t kMostDsts = 16;

// One tile of work: every destination gets the sources combined in their order. There is at least
// one source, and the operator is valid() for the type.
struct Fold {
  const std::byte* sources[kMostSources];
  std::byte* dsts[kMostDsts];
  double factors[kMostSources];  // by which a source is multiplied first, where is_scaled
  uint64_t bytes;                // of each source: whole elements
  uint64_t divisor;              // 0: none; else divides the result (kAvg)
  uint8_t num_sources, num_dsts;
  uint8_t type, op;   // DataType, Op
  uint8_t is_scaled;  // kPremulSum
};
static_assert(std::is_trivially_copyable_v<Fold> && sizeof(Fold) == 408);

// Bytes are copied as they are, NaN and all.
TUTTI_BOTH inline bool is_copy(const Fold& fold) {
  return fold.num_sources == 1 && fold.is_scaled == 0 && fold.divisor == 0;
}

// In place, some copies are of bytes to where they are.
TUTTI_BOTH inline void drop_idle(Fold& fold) {
  if (!is_copy(fold)) return;
  for (uint32_t d = fold.num_dsts; d-- > 0;) {
    if (fold.dsts[d] == fold.sources[0]) fold.dsts[d] = fold.dsts[--fold.num_dsts];
  }
}

// Elements without those from `begin` on, `num` of them: what another way of folding leaves over.
struct Gap {
  uint64_t begin = 0;
  uint64_t num = 0;
};

template <class T>
TUTTI_BOTH inline T load_scaled(const Fold& fold, uint32_t source, uint64_t elem) {
  const T element = load_element<T>(fold.sources[source] + elem * sizeof(T));
  return fold.is_scaled != 0 ? scaled(element, fold.factors[source]) : element;
}

template <class T>
TUTTI_BOTH inline T folded(const Fold& fold, uint64_t elem) {
  T result = load_scaled<T>(fold, 0, elem);
  if (fold.num_sources > 1) {
    auto sum = to_number(result);
    TUTTI_NO_UNROLL
    for (uint32_t s = 1; s < fold.num_sources; ++s) {
      const T next = load_scaled<T>(fold, s, elem);
      sum = combined(static_cast<Op>(fold.op), sum, to_number(next));
    }
    result = to_element<T>(sum);
  }
  return fold.divisor != 0 ? divided(result, fold.divisor) : result;
}

// Every stride-th of the elements around the gap, from the first-th on.
TUTTI_BOTH inline void fold_around(const Fold& fold, Gap gap, uint64_t first, uint64_t stride) {
  with_type(static_cast<DataType>(fold.type), [&](auto zero) {
    using T = decltype(zero);
    const uint64_t num = fold.bytes / sizeof(T) - gap.num;
    TUTTI_NO_UNROLL
    for (uint64_t i = first; i < num; i += stride) {
      const uint64_t elem = i < gap.begin ? i : i + gap.num;
      const T result = folded<T>(fold, elem);
      TUTTI_NO_UNROLL
      for (uint32_t d = 0; d < fold.num_dsts; ++d) {
        store_element(fold.dsts[d] + elem * sizeof(T), result);
      }
    }
  });
}

// The elements first_elem, first_elem + stride, ... of the tile.
TUTTI_BOTH inline void fold_elements(const Fold& fold, uint64_t first_elem, uint64_t stride) {
  fold_around(fold, Gap{}, first_elem, stride);
}

}  // namespace tutti::engine
