// Collectives on memory of a GPU. What tutti/communicator.h promises holds here too: any order, any
// thread, overlapping groups, no deadlock; matched by name and tag. Needs the CUDA parts: target
// tutti_comm_cuda.
//
//   auto comm = tutti::Communicator::from_environment().value();
//   auto gpu = tutti::DeviceCommunicator::create(comm, 0).value();
//   gpu.all_reduce(std::span(gradient, elems), stream, {.name = "layer3.weight"}).value();
//
// An operation is in the order of the stream that it is given: it begins when the stream has come
// to it, and what comes behind it in the stream waits for it. The call itself does not wait. Ranks
// may be threads of one process or processes of one host, and several of them may share a GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "tutti/communicator.h"
#include "tutti/device_kernel.h"

struct CUstream_st;

namespace tutti {

namespace comm {
class DeviceGroup;
class DevicePrepared;
}  // namespace comm

// What cudaStream_t is.
using DeviceStream = CUstream_st*;

// A call that kernels begin and wait for, as often as they like (tutti/device_kernel.h). When its
// last copy goes it is not under way, and no kernel begins it any more. It keeps what it needs of
// its communicator; the buffers are the caller's.
class PreparedCall {
 public:
  [[nodiscard]] DeviceTrigger trigger() const;

  // For tutti's own parts.
  explicit PreparedCall(std::shared_ptr<const comm::DevicePrepared> call);

 private:
  std::shared_ptr<const comm::DevicePrepared> call_;
};

// Thread-safe, as streams are: calls on one stream from several threads come in some order. Copies
// share one communicator. Whoever destroys the last copy waits for what was enqueued, unless the
// communicator was aborted: then what is in streams keeps what it needs, and the caller's buffers
// and streams must stay until the streams have come past it.
class DeviceCommunicator {
 public:
  // All ranks of `comm` call it, in the same order as other such calls on it, each with CUDA's
  // number of the GPU that its buffers are on.
  static Result<DeviceCommunicator> create(const Communicator& comm, int device);

  [[nodiscard]] uint32_t rank() const;
  [[nodiscard]] uint32_t num_ranks() const;
  [[nodiscard]] int device() const;
  // Its ranks on the host: to split it, say, and make a device communicator of the part.
  [[nodiscard]] const Communicator& host() const;

  template <Element T>
  Status all_reduce(std::span<T> data, DeviceStream stream, const CallOptions& options = {}) {
    return all_reduce(std::span<const T>(data), data, stream, options);
  }
  template <Element T>
  Status all_reduce(std::span<const T> input, std::span<T> output, DeviceStream stream,
                    const CallOptions& options = {}) {
    return call(CollectiveKind::kAllReduce, input, output, stream, options);
  }
  template <Element T>
  Status reduce(std::span<const T> input, std::span<T> output, DeviceStream stream,
                const CallOptions& options = {}) {
    return call(CollectiveKind::kReduce, input, output, stream, options);
  }
  template <Element T>
  Status broadcast(std::span<T> data, DeviceStream stream, const CallOptions& options = {}) {
    return call(CollectiveKind::kBroadcast, std::span<const T>(data), data, stream, options);
  }
  template <Element T>
  Status all_gather(std::span<const T> input, std::span<T> output, DeviceStream stream,
                    const CallOptions& options = {}) {
    return call(CollectiveKind::kAllGather, input, output, stream, options);
  }
  template <Element T>
  Status reduce_scatter(std::span<const T> input, std::span<T> output, DeviceStream stream,
                        const CallOptions& options = {}) {
    return call(CollectiveKind::kReduceScatter, input, output, stream, options);
  }
  template <Element T>
  Status all_to_all(std::span<const T> input, std::span<T> output, DeviceStream stream,
                    const CallOptions& options = {}) {
    return call(CollectiveKind::kAllToAll, input, output, stream, options);
  }

  // Any call, by its fields.
  Status enqueue(const Call& call, DeviceStream stream) { return enqueue({&call, 1}, stream); }
  // Several that begin together: none waits for another, and what comes behind in the stream waits
  // for all. Messages back and forth between two ranks must be one such group, or each rank's
  // stream waits for the other's. A message to oneself must be in one group with its receipt.
  // Refused as a whole, before anything is enqueued, if one of them is wrong.
  Status enqueue(std::span<const Call> calls, DeviceStream stream);
  // While the stream is being captured, calls become part of the graph: each launch of it is one
  // more use of the call, and the i-th meets the i-th on the other ranks. So all members capture
  // the same calls, in the same order but for names and tags, and launch them equally often; calls
  // in graphs and calls in streams do not meet. What the graph needs it keeps, also when the last
  // copy of the communicator goes. `is_idle` and `finish` know nothing of launches: wait for their
  // streams.

  // The same call again and again, begun by kernels. All members prepare it, as they would call it;
  // it meets no call in streams or graphs. One operation: no exchange, no message to oneself.
  Result<PreparedCall> prepare(const Call& call);
  // Whether calls in the stream become part of a graph now.
  Result<bool> is_capturing(DeviceStream stream) const;

  // Why the first operation failed that did, as far as is known now. An operation that has failed
  // lets its stream go on; its output is undefined. Never blocks.
  [[nodiscard]] Status status() const;
  // Whether everything enqueued is over, but for what graphs and kernels have begun. Never blocks.
  [[nodiscard]] bool is_idle() const;
  // Waits until everything enqueued is over; then as status(). Does not wait for what graphs and
  // kernels have begun, of which the host does not hear: wait for their streams before, then
  // status() knows of their failures too. Nor does the end of the last copy wait for those.
  Status finish();
  // Everything enqueued ends here, at the latest when its stream has come to it, and what is
  // enqueued later is refused. Other members' operations end when they abort too, or at their
  // deadline. Never waits for anybody, nor does the end of an aborted communicator.
  void abort();

  // For tutti's own parts.
  explicit DeviceCommunicator(std::shared_ptr<comm::DeviceGroup> group);

 private:
  template <Element T>
  Status call(CollectiveKind kind, std::span<const T> input, std::span<T> output,
              DeviceStream stream, const CallOptions& options) {
    return enqueue({.kind = kind,
                    .type = data_type_of<T>,
                    .input = input.data(),
                    .input_elems = input.size(),
                    .output = output.data(),
                    .output_elems = output.size(),
                    .options = options},
                   stream);
  }

  std::shared_ptr<comm::DeviceGroup> group_;
};

// The GPU that the calling thread uses: CUDA's number.
Result<int> current_device();
// Memory of that GPU, which ranks in other processes can reach directly.
Result<void*> allocate_on_device(uint64_t bytes);
// Of that one, which the calling thread need not use.
Result<void*> allocate_on_device(uint64_t bytes, int device);
Status free_on_device(void* memory);

}  // namespace tutti
