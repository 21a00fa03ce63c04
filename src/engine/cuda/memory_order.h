// Loads and stores that several runners see, be they threads of a CPU or blocks of a GPU: the
// memory orders that the daemon's code is written with. All ranks of a group share one device, so
// what they tell each other has its scope; what the host sees has the system's, which costs more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "engine/both.h"

#if defined(__CUDA_ARCH__)
#include "engine/cuda/ptx.cuh"
#else
#include <atomic>
#endif

namespace tutti::engine::cuda {

// 16 bytes that are written and read as one. The last word is a stamp: whoever reads the stamp that
// it expects has read what was written with it, so a message needs no fence and no flag beside it.
struct alignas(16) Unit {
  uint32_t words[4];
};
static_assert(sizeof(Unit) == 16 && std::is_trivially_copyable_v<Unit>);

TUTTI_BOTH inline uint32_t load_relaxed(const uint32_t* at) {
#if defined(__CUDA_ARCH__)
  return ptx::load_relaxed(at);
#else
  return std::atomic_ref(*const_cast<uint32_t*>(at)).load(std::memory_order_relaxed);
#endif
}

TUTTI_BOTH inline uint64_t load_relaxed(const uint64_t* at) {
#if defined(__CUDA_ARCH__)
  return ptx::load_relaxed(at);
#else
  return std::atomic_ref(*const_cast<uint64_t*>(at)).load(std::memory_order_relaxed);
#endif
}

TUTTI_BOTH inline uint32_t load_byte(const std::byte* at) {
#if defined(__CUDA_ARCH__)
  return ptx::load_byte(at);
#else
  return static_cast<uint32_t>(
      std::atomic_ref(*const_cast<std::byte*>(at)).load(std::memory_order_relaxed));
#endif
}

TUTTI_BOTH inline uint32_t load_acquire(const uint32_t* at) {
#if defined(__CUDA_ARCH__)
  return ptx::load_acquire(at);
#else
  return std::atomic_ref(*const_cast<uint32_t*>(at)).load(std::memory_order_acquire);
#endif
}

TUTTI_BOTH inline uint64_t load_acquire(const uint64_t* at) {
#if defined(__CUDA_ARCH__)
  return ptx::load_acquire(at);
#else
  return std::atomic_ref(*const_cast<uint64_t*>(at)).load(std::memory_order_acquire);
#endif
}

// What the host has written.
TUTTI_BOTH inline uint32_t load_acquire_host(const uint32_t* at) {
#if defined(__CUDA_ARCH__)
  return ptx::load_acquire_system(at);
#else
  return load_acquire(at);
#endif
}

TUTTI_BOTH inline void store_relaxed(uint32_t* at, uint32_t value) {
#if defined(__CUDA_ARCH__)
  ptx::store_relaxed(at, value);
#else
  std::atomic_ref(*at).store(value, std::memory_order_relaxed);
#endif
}

TUTTI_BOTH inline void store_release(uint32_t* at, uint32_t value) {
#if defined(__CUDA_ARCH__)
  ptx::store_release(at, value);
#else
  std::atomic_ref(*at).store(value, std::memory_order_release);
#endif
}

// Several words that are set at the same time: one fence, then each of them. On a host, whose
// checker of races knows no fences, each of them releases.
TUTTI_BOTH inline void fence_before_signals() {
#if defined(__CUDA_ARCH__)
  ptx::fence();
#endif
}
TUTTI_BOTH inline void store_signal(uint32_t* at, uint32_t value) {
#if defined(__CUDA_ARCH__)
  ptx::store_relaxed(at, value);
#else
  store_release(at, value);
#endif
}

// Words that are looked at together, and one fence once all of them say what is wanted. On a host
// each look acquires.
TUTTI_BOTH inline uint32_t load_signal(const uint32_t* at) {
#if defined(__CUDA_ARCH__)
  return ptx::load_relaxed(at);
#else
  return load_acquire(at);
#endif
}
TUTTI_BOTH inline void fence_after_signals() {
#if defined(__CUDA_ARCH__)
  ptx::fence();
#endif
}

// For the host.
TUTTI_BOTH inline void store_release_host(uint32_t* at, uint32_t value) {
#if defined(__CUDA_ARCH__)
  ptx::store_release_system(at, value);
#else
  store_release(at, value);
#endif
}

// The same for several words: one fence, then each of them.
TUTTI_BOTH inline void fence_before_host_signals() {
#if defined(__CUDA_ARCH__)
  ptx::fence_release_system();
#endif
}
TUTTI_BOTH inline void store_host_signal(uint32_t* at, uint32_t value) {
#if defined(__CUDA_ARCH__)
  ptx::store_relaxed(at, value);
#else
  store_release(at, value);
#endif
}
TUTTI_BOTH inline void add_host_signal(uint32_t* at, uint32_t value) {
#if defined(__CUDA_ARCH__)
  ptx::add_relaxed_system(at, value);
#else
  std::atomic_ref(*at).fetch_add(value, std::memory_order_release);
#endif
}

// A count that nothing else depends on.
TUTTI_BOTH inline void add_relaxed(uint32_t* at, uint32_t value) {
#if defined(__CUDA_ARCH__)
  ptx::add_relaxed(at, value);
#else
  std::atomic_ref(*at).fetch_add(value, std::memory_order_relaxed);
#endif
}

// Before anything is read that the host may have written meanwhile: either this or the host sees
// what the other has written.
TUTTI_BOTH inline void announce_to_host(uint32_t* at, uint32_t value) {
#if defined(__CUDA_ARCH__)
  ptx::store_relaxed(at, value);
  ptx::fence_system();
#else
  std::atomic_ref(*at).exchange(value, std::memory_order_seq_cst);
#endif
}

// Gives what was there before. Acquires and releases.
TUTTI_BOTH inline uint32_t fetch_add(uint32_t* at, uint32_t value) {
#if defined(__CUDA_ARCH__)
  return ptx::fetch_add(at, value);
#else
  return std::atomic_ref(*at).fetch_add(value, std::memory_order_acq_rel);
#endif
}

TUTTI_BOTH inline Unit load_unit(const Unit* at) {
#if defined(__CUDA_ARCH__)
  Unit unit;
  ptx::load_unit(at->words, unit.words);
  return unit;
#else
  // The stamp first: what was stored before it is then there.
  auto* words = const_cast<uint32_t*>(at->words);
  const uint32_t stamp = std::atomic_ref(words[3]).load(std::memory_order_acquire);
  return {{load_relaxed(words), load_relaxed(words + 1), load_relaxed(words + 2), stamp}};
#endif
}

TUTTI_BOTH inline void store_unit(Unit* at, const Unit& unit) {
#if defined(__CUDA_ARCH__)
  ptx::store_unit(at->words, unit.words);
#else
  for (int i = 0; i < 3; ++i) store_relaxed(at->words + i, unit.words[i]);
  // Pairs with the acquire in load_unit.
  std::atomic_ref(at->words[3]).store(unit.words[3], std::memory_order_release);
#endif
}

}  // namespace tutti::engine::cuda
