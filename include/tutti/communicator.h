// Ranks that exchange data together. Operations may be issued in any order on every rank, from any
// thread, and on overlapping communicators: they are matched by name and tag (or, without, by their
// number among the unnamed calls on the communicator), never by the moment of the call, and cannot
// deadlock. The i-th use of a name on one rank meets the i-th use on the others.
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
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tutti/collective.h"
#include "tutti/data_type.h"
#include "tutti/result.h"
#include "tutti/work.h"

namespace tutti {

class Memory;            // tutti/memory.h
class VerifiedSchedule;  // tutti/schedule.h

struct CallOptions {
  Op op = Op::kSum;   // of calls that reduce
  uint32_t root = 0;  // of calls that have one
  double factor = 1;  // of kPremulSum: what this rank's elements are multiplied by
  // What the call is matched by: a name, a number, or both. With neither, a collective is matched
  // by its number among such calls, a message by its number among those from this sender to this
  // receiver.
  std::string_view name = {};
  uint64_t tag = 0;
  std::chrono::nanoseconds deadline = std::chrono::minutes(30);
};

// Sizes of calls, both ends included: bytes of the whole row, of all ranks together where a call
// gathers or scatters.
struct ByteRange {
  uint64_t min_bytes = 0;
  uint64_t max_bytes = UINT64_MAX;
};

// A call without its C++ types. What the typed functions below make.
struct Call {
  CollectiveKind kind = CollectiveKind::kBarrier;
  DataType type = DataType::kUint8;
  const void* input = nullptr;
  uint64_t input_elems = 0;
  void* output = nullptr;
  uint64_t output_elems = 0;
  // One a rank, for the uneven forms; else empty. Of all_to_all: what goes to each rank, and what
  // comes from each.
  std::span<const uint64_t> counts = {};
  std::span<const uint64_t> output_counts = {};
  // Of send_recv: the other rank, and which end this is. The sender has input, the receiver output.
  uint32_t peer = 0;
  bool receives = false;
  CallOptions options = {};
};

class Communicator {
 public:
  // One rank of the job that this process was started in: by `tutti run`, mpirun, srun or torchrun.
  // Started by none of them, a job of one rank.
  static Result<Communicator> from_environment();
  // All ranks of a job whose ranks are threads of this process; give one to each thread.
  static Result<std::vector<Communicator>> threads(uint32_t num_ranks);

  // Without a launcher: one rank makes a place on this host and tells it to the others, at most 100
  // characters. It serves for one job. Nothing is left behind of a place where nobody meets.
  static Result<std::string> make_meeting_place();
  // One rank of the job of all who name the same place and number of ranks: threads of one process,
  // processes, or both. Waits for all of them; kDeadline names who is missing. Of the options the
  // deadline counts. Nobody waits for whoever lets go of the last copy, and what others still need
  // from that rank they get; the end of the process waits until all have let go, a minute at most.
  static Result<Communicator> meet(const std::string& place, uint32_t rank, uint32_t num_ranks,
                                   const CallOptions& options = {});

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
  // Counts: elements for each rank and from each rank, which lie one behind the other in order of
  // ranks. What this rank sends to another must be what that one expects from this.
  template <Element T>
  Work all_to_all(std::span<const T> input, std::span<T> output,
                  std::span<const uint64_t> input_counts, std::span<const uint64_t> output_counts,
                  const CallOptions& options = {}) {
    return submit({.kind = CollectiveKind::kAllToAll,
                   .type = data_type_of<T>,
                   .input = input.data(),
                   .input_elems = input.size(),
                   .output = output.data(),
                   .output_elems = output.size(),
                   .counts = input_counts,
                   .output_counts = output_counts,
                   .options = options});
  }
  // `output` counts at the root alone. Counts: elements of each rank, the same list on all.
  template <Element T>
  Work gather(std::span<const T> input, std::span<T> output, const CallOptions& options = {}) {
    return call(CollectiveKind::kGather, input, output, options);
  }
  template <Element T>
  Work gather(std::span<const T> input, std::span<T> output, std::span<const uint64_t> counts,
              const CallOptions& options = {}) {
    return call(CollectiveKind::kGather, input, output, options, counts);
  }
  // `input` counts at the root alone.
  template <Element T>
  Work scatter(std::span<const T> input, std::span<T> output, const CallOptions& options = {}) {
    return call(CollectiveKind::kScatter, input, output, options);
  }
  template <Element T>
  Work scatter(std::span<const T> input, std::span<T> output, std::span<const uint64_t> counts,
               const CallOptions& options = {}) {
    return call(CollectiveKind::kScatter, input, output, options, counts);
  }
  Work barrier(const CallOptions& options = {}) {
    return submit({.kind = CollectiveKind::kBarrier, .options = options});
  }

  // A message to one rank, which calls recv with the same count, type, name and tag. Any order of
  // calls works, also to oneself. A send is over when `data` may be reused: for small messages at
  // once, for others when the receiver has read them.
  template <Element T>
  Work send(std::span<const T> data, uint32_t peer, const CallOptions& options = {}) {
    return submit({.kind = CollectiveKind::kSendRecv,
                   .type = data_type_of<T>,
                   .input = data.data(),
                   .input_elems = data.size(),
                   .peer = peer,
                   .options = options});
  }
  template <Element T>
    requires(!std::is_const_v<T>)
  Work send(std::span<T> data, uint32_t peer, const CallOptions& options = {}) {
    return send(std::span<const T>(data), peer, options);
  }
  template <Element T>
  Work recv(std::span<T> data, uint32_t peer, const CallOptions& options = {}) {
    return submit({.kind = CollectiveKind::kSendRecv,
                   .type = data_type_of<T>,
                   .output = data.data(),
                   .output_elems = data.size(),
                   .peer = peer,
                   .receives = true,
                   .options = options});
  }

  // Any call, by its fields.
  Work submit(const Call& call);

  // The members at these places, in this order; all of them, and nobody else, call it with the same
  // list. Nothing is sent. The communicators that come of it may overlap in any way.
  Result<Communicator> subset(std::span<const uint32_t> ranks);
  // The same members again: calls on the copy never meet calls on the original.
  Result<Communicator> duplicate();
  // All members call it; those of equal color form a communicator, in order of key, then of rank.
  // Waits for all, like a collective. Name and deadline of the options count.
  Result<Communicator> split(int64_t color, int64_t key, const CallOptions& options = {});

  // The same members again, whose calls follow the schedule where it is for them: its collective,
  // its root, these sizes. All other calls are served as before, and calls on the copy never meet
  // calls on the original. All members call it; it waits for all, like a collective, and name and
  // deadline of the options count. A schedule for another number of ranks, for messages, or for
  // sizes that one brought along earlier serves, and members with different schedules are the same
  // error on all of them, which names the ranks. What is made of the copy (subset, split, ...)
  // follows the schedule too, where it has as many ranks.
  Result<Communicator> with_schedule(const VerifiedSchedule& schedule, const ByteRange& sizes = {},
                                     const CallOptions& options = {});
  // Reads and proves it first: our JSON or MSCCL XML. A file that one member cannot read or prove
  // is an error on all.
  Result<Communicator> with_schedule(const std::string& path, const ByteRange& sizes = {},
                                     const CallOptions& options = {});

  // Ends every operation of this communicator with kAborted, here and on all members, under way and
  // later. Communicators made from it are others. Never blocks; any thread.
  void abort();
  // The members that live. All of them call it, after an error of kPeerLost or an abort; it waits
  // for all that live, whatever has become of this communicator's operations.
  //
  // Promise: every caller that lives on gets the same members. A rank that any caller knew to be
  // dead when it called is not among them. One that dies meanwhile may be: calls on the new
  // communicator then fail with kPeerLost, and shrink it again. kDeadline when one that lives does
  // not call; others may then have got their communicator.
  Result<Communicator> shrink(const CallOptions& options = {});

  // For tutti's own parts.
  explicit Communicator(std::shared_ptr<comm::Group> group) : group_(std::move(group)) {}
  [[nodiscard]] const std::shared_ptr<comm::Group>& group() const { return group_; }

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

  friend Result<Memory> allocate_bytes(const Communicator& comm, uint64_t bytes);

  std::shared_ptr<comm::Group> group_;
};

}  // namespace tutti
