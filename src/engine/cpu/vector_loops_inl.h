// The loops over elements: a kernel is a format, an operator and one of these. Included once for
// each instruction set.
//
// No loop handles a remainder. The last vector is calculated before the first is stored and stored
// after all others: it overlaps its neighbour, and must not read what was written there in place.
// Fewer elements than a vector holds are two overlapping halves of it, or quarters, or eighths.
#include "engine/cpu/targets.h"
//
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "engine/cpu/kernels.h"

#if defined(TUTTI_VECTOR_LOOPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_VECTOR_LOOPS_INL_H
#undef TUTTI_VECTOR_LOOPS_INL_H
#else
#define TUTTI_VECTOR_LOOPS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tutti::engine::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kLineBytes = 64;

template <class Format, class D>
using ValuesOf = typename Format::template Values<D>;

template <class Format, class D>
struct Four {
  ValuesOf<Format, D> v0, v1, v2, v3;
};

template <class Format, class D>
HWY_INLINE ValuesOf<Format, D> load_at(D d, const void* base, size_t elem) {
  return Format::load(d, static_cast<const uint8_t*>(base) + elem * Format::kElemBytes);
}
template <class Format, class D>
HWY_INLINE void store_at(D d, ValuesOf<Format, D> v, void* base, size_t elem) {
  Format::store(d, v, static_cast<uint8_t*>(base) + elem * Format::kElemBytes);
}

// What stands at an element of the result: one(d, i) the vector that begins there, four(d, i) the
// four that do.
template <class Format, class Operator>
struct Pair {
  const void* a;
  const void* b;

  template <class D>
  HWY_INLINE ValuesOf<Format, D> one(D d, size_t i) const {
    return Format::template apply<Operator>(d, load_at<Format>(d, a, i), load_at<Format>(d, b, i));
  }
  template <class D>
  HWY_INLINE Four<Format, D> four(D d, size_t i) const {
    const size_t n = hn::Lanes(d);
    return {one(d, i), one(d, i + n), one(d, i + 2 * n), one(d, i + 3 * n)};
  }
};

template <class Format, class Operator>
struct Many {
  const void* const* sources;
  size_t num_sources;

  template <class D>
  HWY_INLINE ValuesOf<Format, D> one(D d, size_t i) const {
    auto sum = load_at<Format>(d, sources[0], i);
    for (size_t s = 1; s < num_sources; ++s) {
      sum = Format::template apply<Operator>(d, sum, load_at<Format>(d, sources[s], i));
    }
    return sum;
  }
  // One source after the other for all four: four sums in flight hide the latency of one.
  template <class D>
  HWY_INLINE Four<Format, D> four(D d, size_t i) const {
    const size_t n = hn::Lanes(d);
    auto v0 = load_at<Format>(d, sources[0], i);
    auto v1 = load_at<Format>(d, sources[0], i + n);
    auto v2 = load_at<Format>(d, sources[0], i + 2 * n);
    auto v3 = load_at<Format>(d, sources[0], i + 3 * n);
    for (size_t s = 1; s < num_sources; ++s) {
      v0 = Format::template apply<Operator>(d, v0, load_at<Format>(d, sources[s], i));
      v1 = Format::template apply<Operator>(d, v1, load_at<Format>(d, sources[s], i + n));
      v2 = Format::template apply<Operator>(d, v2, load_at<Format>(d, sources[s], i + 2 * n));
      v3 = Format::template apply<Operator>(d, v3, load_at<Format>(d, sources[s], i + 3 * n));
    }
    return {v0, v1, v2, v3};
  }
};

template <class Format, class Operator>
struct Scaled {
  const void* src;
  typename Format::Number by;

  template <class D>
  HWY_INLINE ValuesOf<Format, D> one(D d, size_t i) const {
    return Format::template apply<Operator>(d, load_at<Format>(d, src, i), Format::fill(d, by));
  }
  template <class D>
  HWY_INLINE Four<Format, D> four(D d, size_t i) const {
    const size_t n = hn::Lanes(d);
    return {one(d, i), one(d, i + n), one(d, i + 2 * n), one(d, i + 3 * n)};
  }
};

template <class Format, class D, class Result>
HWY_INLINE void store_few(D d, void* dst, size_t elems, const Result& result) {
  const size_t n = hn::Lanes(d);
  if (elems >= n) {
    const auto first = result.one(d, 0);
    const auto last = result.one(d, elems - n);
    store_at<Format>(d, first, dst, 0);
    store_at<Format>(d, last, dst, elems - n);
    return;
  }
  if constexpr (hn::MaxLanes(D()) > 1) store_few<Format>(hn::Half<D>(), dst, elems, result);
}

template <class Format, class Result>
HWY_INLINE void store_all(void* dst, size_t elems, const Result& result) {
  const hn::ScalableTag<typename Format::Lane> d;
  const size_t n = hn::Lanes(d);
  if (elems < 2 * n) return store_few<Format>(d, dst, elems, result);
  const auto last = result.one(d, elems - n);
  size_t i = 0;
  for (; i + 4 * n < elems; i += 4 * n) {
    const auto four = result.four(d, i);
    store_at<Format>(d, four.v0, dst, i);
    store_at<Format>(d, four.v1, dst, i + n);
    store_at<Format>(d, four.v2, dst, i + 2 * n);
    store_at<Format>(d, four.v3, dst, i + 3 * n);
  }
  for (; i + n < elems; i += n) store_at<Format>(d, result.one(d, i), dst, i);
  store_at<Format>(d, last, dst, elems - n);
}

template <class Format, class Operator>
void reduce(void* dst, const void* a, const void* b, size_t elems) {
  store_all<Format>(dst, elems, Pair<Format, Operator>{a, b});
}

// Leaves the fence to the caller.
inline void stream_bytes(uint8_t* dst, const uint8_t* src, size_t bytes) {
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint8_t> d;
  const size_t n = hn::Lanes(d);
  const size_t to_line = -reinterpret_cast<uintptr_t>(dst) % kLineBytes;
  if (to_line != 0) {
    const size_t head = std::min(bytes, to_line);
    std::memcpy(dst, src, head);
    dst += head, src += head, bytes -= head;
  }
  for (; bytes >= kLineBytes; dst += kLineBytes, src += kLineBytes, bytes -= kLineBytes) {
    for (size_t i = 0; i < kLineBytes; i += n) hn::Stream(hn::LoadU(d, src + i), d, dst + i);
  }
#endif
  std::memcpy(dst, src, bytes);
}

// By way of a block that stays in the first-level cache: half of the formats fill too little of a
// vector for a non-temporal store, and those go to memory by whole lines in any case.
template <class Format, class Operator>
void reduce_streaming(void* dst, const void* a, const void* b, size_t elems) {
  constexpr size_t kBlockElems = kBlockBytes / Format::kElemBytes;
  if (elems < kBlockElems) return reduce<Format, Operator>(dst, a, b, elems);
  alignas(kLineBytes) uint8_t block[kBlockBytes];
  // The first block is short, so that the others begin on a line of the destination.
  const size_t to_line = -reinterpret_cast<uintptr_t>(dst) % kLineBytes;
  size_t num = to_line == 0 ? kBlockElems : to_line / Format::kElemBytes;
  for (size_t i = 0; i < elems; i += num, num = kBlockElems) {
    num = std::min(num, elems - i);
    const size_t at = i * Format::kElemBytes;
    reduce<Format, Operator>(block, static_cast<const uint8_t*>(a) + at,
                             static_cast<const uint8_t*>(b) + at, num);
    stream_bytes(static_cast<uint8_t*>(dst) + at, block, num * Format::kElemBytes);
  }
  hwy::FlushStream();
}

template <class Format, class Operator>
void fold(void* dst, const void* const* sources, size_t num_sources, size_t elems) {
  store_all<Format>(dst, elems, Many<Format, Operator>{sources, num_sources});
}

template <class Format, class Operator>
void scale_by(void* dst, const void* src, size_t elems, double by) {
  const auto number = static_cast<typename Format::Number>(by);
  store_all<Format>(dst, elems, Scaled<Format, Operator>{src, number});
}

template <class Format, class Operator>
ReduceKernels reduce_kernels() {
  return {reduce<Format, Operator>, reduce_streaming<Format, Operator>, fold<Format, Operator>};
}

}  // namespace tutti::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
