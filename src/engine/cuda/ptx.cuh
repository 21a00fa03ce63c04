// All inline PTX, one instruction a function. Sections are those of the PTX ISA manual, 9.0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::engine::ptx {

// 9.7.9.8, ld.
__device__ inline uint32_t load_relaxed(const uint32_t* at) {
  uint32_t value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}
__device__ inline uint64_t load_relaxed(const uint64_t* at) {
  uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}
__device__ inline uint32_t load_acquire(const uint32_t* at) {
  uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}
__device__ inline uint64_t load_acquire(const uint64_t* at) {
  uint64_t value;
  asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}
__device__ inline uint32_t load_byte(const std::byte* at) {
  uint32_t value;
  asm volatile("ld.relaxed.sys.global.u8 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}
__device__ inline uint32_t load_acquire_system(const uint32_t* at) {
  uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}
// A vector is one access of the memory system when it is aligned, as NCCL's packets count on too.
__device__ inline void load_unit(const uint32_t* at, uint32_t* words) {
  asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "l"(at)
               : "memory");
}

// 16 bytes of global memory, past the first-level cache: that of this multiprocessor may be stale
// where another wrote. 9.7.9.8, ld: relaxed, of the scope of this GPU. It orders nothing.
__device__ __forceinline__ uint4 load_16(const void* from) {
  uint4 unit;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(unit.x), "=r"(unit.y), "=r"(unit.z), "=r"(unit.w)
               : "l"(__cvta_generic_to_global(from))
               : "memory");
  return unit;
}

// 9.7.9.11, st.
__device__ inline void store_relaxed(uint32_t* at, uint32_t value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
__device__ inline void store_release(uint32_t* at, uint32_t value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
__device__ inline void store_release_system(uint32_t* at, uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
__device__ inline void store_unit(uint32_t* at, const uint32_t* words) {
  asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(words[0]),
               "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

// 9.7.13.4, fence.
__device__ inline void fence_system() { asm volatile("fence.sc.sys;" ::: "memory"); }
__device__ inline void fence_release_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
__device__ inline void fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// 9.7.13.6, atom.
__device__ inline uint32_t fetch_add(uint32_t* at, uint32_t value) {
  uint32_t before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(at), "r"(value)
               : "memory");
  return before;
}

// 9.7.13.7, red.
__device__ inline void add_relaxed_system(uint32_t* at, uint32_t value) {
  asm volatile("red.relaxed.sys.global.add.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
__device__ inline void add_relaxed(uint32_t* at, uint32_t value) {
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

// 9.7.13.15, mbarrier: a barrier in shared memory, for threads that are not converged. Phases
// alternate; a wait names the parity of the phase that must be over.
__device__ inline uint32_t shared_address(const uint64_t* at) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(at));
}
__device__ inline void barrier_init(uint64_t* at, uint32_t num_arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(at)), "r"(num_arrivals)
               : "memory");
}
__device__ inline void barrier_arrive(uint64_t* at) {
  asm volatile(
      "{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(shared_address(at))
      : "memory");
}
// On Hopper the thread may sleep a while; before, it looks.
__device__ inline bool barrier_is_over(uint64_t* at, uint32_t parity) {
  uint32_t is_over;
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2;"
      " selp.u32 %0, 1, 0, p; }"
      : "=r"(is_over)
      : "r"(shared_address(at)), "r"(parity)
      : "memory");
#else
  asm volatile(
      "{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2;"
      " selp.u32 %0, 1, 0, p; }"
      : "=r"(is_over)
      : "r"(shared_address(at)), "r"(parity)
      : "memory");
#endif
  return is_over != 0;
}

// 10.26, special registers.
__device__ inline uint64_t global_timer_ns() {
  uint64_t ns;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

}  // namespace tutti::engine::ptx
