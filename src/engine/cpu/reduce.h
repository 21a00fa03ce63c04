// Element-wise arithmetic of the CPU engine: combines, scales and copies runs of elements with the
// best vector instructions of the machine. Single-threaded, no allocation, no errors: the caller
// has checked valid(type, op).
//
// Pointers may have any alignment and counts may be zero. The destination may be exactly one of
// the sources; overlapping them in any other way is not allowed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tutti/data_type.h"

namespace tutti::engine {

// How the destination is written. kStreaming goes past the caches with non-temporal stores and
// ends with a fence, so that a flag set afterwards is seen after the data: for destinations that
// this core will not read soon. A few KiB are stored as usual all the same.
enum class Stores : uint8_t { kCached, kStreaming };

// dst[i] = a[i] op b[i].
//
// Integers wrap around. float16, bfloat16 and the 8-bit floats are calculated in float and rounded
// to nearest even once a call. min and max give NaN if either element is NaN, and b's element of
// two that are equal, which decides between -0 and +0. The sign and payload of a NaN are not
// defined; all other bits are the same on every machine and whatever the count and alignment.
using ReduceFn = void (*)(void* dst, const void* a, const void* b, size_t elems);

// Looked up once, called often: it points straight at the code for this CPU. kAvg and kPremulSum
// are kSum here; scale() and divide() do the rest. Null if the operator is not for the type.
[[nodiscard]] ReduceFn reduce_function(DataType type, Op op,
                                       Stores stores = Stores::kCached) noexcept;

// dst[i] = ((sources[0][i] op sources[1][i]) op sources[2][i]) ..., reading every source once;
// needs at least one. What is calculated in float is rounded once, at the end. With two sources
// the bits are those of ReduceFn.
using FoldFn = void (*)(void* dst, const void* const* sources, size_t num_sources, size_t elems);

[[nodiscard]] FoldFn fold_function(DataType type, Op op) noexcept;

// dst[i] = src[i] * factor, in double for float64 and in float, rounded once, for the other
// floats. Integers wrap around; their factor is truncated towards zero first, and is held within
// what 64 bits can hold.
void scale(DataType type, void* dst, const void* src, size_t elems, double factor) noexcept;

// dst[i] = dst[i] / divisor, in double or float as above; integers truncate towards zero. The
// divisor is not zero; float holds it exactly up to 2^24.
void divide(DataType type, void* dst, size_t elems, uint64_t divisor) noexcept;

void copy(void* dst, const void* src, size_t bytes) noexcept;
void copy_streaming(void* dst, const void* src, size_t bytes) noexcept;

}  // namespace tutti::engine
