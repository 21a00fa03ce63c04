// Ranks that exchange data together. Operations may be issued in any order on every rank, from any
// thread, and on overlapping communicators: they are matched by name (or, without one, by their
// number among the unnamed calls on the communicator), never by the moment of the call, and cannot
// deadlock.
//
//   auto comm = tutti::Communicator::from_environment().value();
//   auto work = comm.all_reduce(std::span(gradient), {.name = "layer3.weight"});
//   ...
//   work.wait().value();
//
// Thread-safe. Copies share one communicator. It must outlive every Work it gave out. Every call
// checks its arguments first; a call that was refused is a Work that is over and has the error.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tutti/collective.h"
#include "tutti/data_type.h"
#include "tutti/result.h"
#include "tutti/work.h"

namespace tutti {

struct CallOptions {
  Op op = Op::kSum;   // of calls that reduce
  uint32_t root = 0;  // of calls that have one
  double factor = 1;  // of kPremulSum: what this rank's elements are multiplied by
  std::string_view name = {};
  std::chrono::nanoseconds deadline = std::chrono::minutes(30);
};

// A call without its C++ types. What the typed functions below make.
struct Call {
  CollectiveKind kind = CollectiveKind::kBarrier;
  DataType type = DataType::kUint8;
  const void* input = nullptr;
  uint64_t input_elems = 0;
  void* output = nullptr;
  uint64_t output_elems = 0;
  std::span<const uint64_t> counts = {};  // one a rank, for the uneven forms; else empty
  uint32_t peer = 0;                      // of send and recv
  CallOptions options = {};
};

class Communicator {
 public:
  // One rank of the job that this process was started in: by `tutti run`, mpirun, srun or torchrun.
  // Started by none of them, a job of one rank.
  static Result<Communicator> from_environment();
  // All ranks of a job whose ranks are threads of this process; give one to each thread.
  static Result<std::vector<Communicator>> threads(uint32_t num_ranks);

  [[nodiscard]] uint32_t rank() const;
  [[nodiscard]] uint32_t num_ranks() const;

  template <Element T>
  Work all_reduce(std::span<T> data, const CallOptions& options = {}) {
    return all_reduce(std::span<const T>(data), data, options);
  }
  template <Element T>
  Work all_reduce(std::span<const T> input, std::span<T> output, const CallOptions& options = {}) {
    return call(CollectiveKind::kAllReduce, input, output, options);
  }
  // `output` counts at the root alone.
  template <Element T>
  Work reduce(std::span<const T> input, std::span<T> output, const CallOptions& options = {}) {
    return call(CollectiveKind::kReduce, input, output, options);
  }
  // The root's data goes to everybody's.
  template <Element T>
  Work broadcast(std::span<T> data, const CallOptions& options = {}) {
    return call(CollectiveKind::kBroadcast, std::span<const T>(data), data, options);
  }
  // Every rank's input, in order of ranks, into everybody's output. Counts: elements of each rank.
  template <Element T>
  Work all_gather(std::span<const T> input, std::span<T> output, const CallOptions& options = {}) {
    return call(CollectiveKind::kAllGather, input, output, options);
  }
  template <Element T>
  Work all_gather(std::span<const T> input, std::span<T> output, std::span<const uint64_t> counts,
                  const CallOptions& options = {}) {
    return call(CollectiveKind::kAllGather, input, output, options, counts);
  }
  template <Element T>
  Work reduce_scatter(std::span<const T> input, std::span<T> output,
                      const CallOptions& options = {}) {
    return call(CollectiveKind::kReduceScatter, input, output, options);
  }
  template <Element T>
  Work reduce_scatter(std::span<const T> input, std::span<T> output,
                      std::span<const uint64_t> counts, const CallOptions& options = {}) {
    return call(CollectiveKind::kReduceScatter, input, output, options, counts);
  }
  template <Element T>
  Work all_to_all(std::span<const T> input, std::span<T> output, const CallOptions& options = {}) {
    return call(CollectiveKind::kAllToAll, input, output, options);
  }
  template <Element T>
  Work gather(std::span<const T> input, std::span<T> output, const CallOptions& options = {}) {
    return call(CollectiveKind::kGather, input, output, options);
  }
  template <Element T>
  Work scatter(std::span<const T> input, std::span<T> output, const CallOptions& options = {}) {
    return call(CollectiveKind::kScatter, input, output, options);
  }
  Work barrier(const CallOptions& options = {}) {
    return submit({.kind = CollectiveKind::kBarrier, .options = options});
  }

  // Any call, by its fields.
  Work submit(const Call& call);

  // The members at these places, in this order; all of them call it with the same list.
  Result<Communicator> subset(std::span<const uint32_t> ranks);

  // For tutti's own parts.
  explicit Communicator(std::shared_ptr<comm::Group> group) : group_(std::move(group)) {}

 private:
  template <Element T>
  Work call(CollectiveKind kind, std::span<const T> input, std::span<T> output,
            const CallOptions& options, std::span<const uint64_t> counts = {}) {
    return submit({.kind = kind,
                   .type = data_type_of<T>,
                   .input = input.data(),
                   .input_elems = input.size(),
                   .output = output.data(),
                   .output_elems = output.size(),
                   .counts = counts,
                   .options = options});
  }

  std::shared_ptr<comm::Group> group_;
};

}  // namespace tutti
