// Collectives that kernels begin and wait for, with no word to the host. The host prepares a call
// (DeviceCommunicator::prepare, tutti/device.h) and hands its trigger to its kernels:
//
//   __global__ void step(tutti::DeviceTrigger sum, float* data) {
//     ...                                   // writes data
//     __syncthreads();
//     if (threadIdx.x == 0) { tutti::trigger(sum); tutti::await(sum); }
//     __syncthreads();
//     ...                                   // reads the sum
//   }
//
// Not allowed: to trigger a call again before it was awaited, on whatever thread; to trigger or
// await what its PreparedCall no longer keeps. Every member triggers its own equally often: the
// i-th time meets the i-th. A kernel that waits must leave room on the GPU for one block of each
// rank's daemon. What fails is over like what does not: DeviceCommunicator::status() says so.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tutti {

// Words in memory that the GPU reaches. Not to be written but by what is below.
struct DeviceTrigger {
  std::uint32_t* arm = nullptr;
  std::uint32_t* done = nullptr;
  std::uint32_t* triggered = nullptr;
};
static_assert(sizeof(DeviceTrigger) == 24 && std::is_trivially_copyable_v<DeviceTrigger>);

#if defined(__CUDACC__)

// Begins the call. It sees what the calling thread has written, and what that thread has seen of
// others.
__device__ inline void trigger(const DeviceTrigger& call) {
  // Pairs with the acquire of the daemon.
  __nv_atomic_store_n(call.arm, 1U, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
  // Pairs with the host's: whoever launches the daemon for it launches it behind the arm word.
  __nv_atomic_store_n(call.triggered, 1U, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_SYSTEM);
}

// Whether it is over; then it is not awaited any more.
__device__ inline bool is_over(const DeviceTrigger& call) {
  // Pairs with the release of the daemon.
  if (__nv_atomic_load_n(call.done, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE) == 0) {
    return false;
  }
  __nv_atomic_store_n(call.done, 0U, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  return true;
}

// Until it is over. The calling thread sees its output then.
__device__ inline void await(const DeviceTrigger& call) {
  // Liveness: it ends when all members have triggered it, or at its deadline.
  while (!is_over(call)) {
  }
}

#endif

}  // namespace tutti
