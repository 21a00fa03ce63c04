#include "tools/perf/measure.h"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/try.h"
#include "tools/perf/numbers.h"
#include "tutti/memory.h"

namespace tutti::tools::perf {
namespace {

// Of the kind that the subject asks for.
class Bytes {
 public:
  Status make(const Communicator& comm, const Subject& subject, size_t bytes) {
    if (subject.shared_memory) {
      TUTTI_ASSIGN(shared_, allocate_bytes(comm, bytes));
    } else {
      ordinary_.resize(bytes);
    }
    return {};
  }
  [[nodiscard]] std::byte* data() {
    return shared_.data() != nullptr ? shared_.data() : ordinary_.data();
  }

 private:
  std::vector<std::byte> ordinary_;
  Memory shared_;
};

// The buffers of one rank. In place, the smaller of the two is a part of the larger.
class Buffers {
 public:
  Buffers(const Communicator& comm, const Subject& subject, uint64_t elems)
      : comm_(comm), subject_(subject), row_(elems), part_(elems) {
    if (splits_row(subject.kind)) part_ = elems / comm.num_ranks();
    const bool is_root = comm.rank() == subject.root;
    const auto whole_if = [&](bool whole) { return whole ? row_ : part_; };
    switch (subject.kind) {
      case CollectiveKind::kAllGather: out_whole_ = true; break;
      case CollectiveKind::kGather: out_whole_ = is_root, has_output_ = is_root; break;
      case CollectiveKind::kReduceScatter: in_whole_ = true; break;
      case CollectiveKind::kScatter: in_whole_ = is_root, has_input_ = is_root; break;
      case CollectiveKind::kAllToAll: in_whole_ = out_whole_ = true; break;
      case CollectiveKind::kReduce: has_output_ = is_root; break;
      case CollectiveKind::kAllReduce:
      case CollectiveKind::kBroadcast:
      case CollectiveKind::kBarrier:
      case CollectiveKind::kSendRecv: break;
    }
    in_elems_ = has_input_ ? whole_if(in_whole_) : 0;
    out_elems_ = has_output_ ? whole_if(out_whole_) : 0;
  }

  Status make(Placing placing) {
    TUTTI_TRY(first_.make(comm_, subject_, (in_elems_ + 1) * size_of(subject_.type)));
    TUTTI_TRY(second_.make(comm_, subject_, (out_elems_ + 1) * size_of(subject_.type)));
    input_ = first_.data();
    output_ = second_.data();
    const bool both = in_elems_ != 0 && out_elems_ != 0;
    if (placing == Placing::kInPlace && both) share();
    if (subject_.kind == CollectiveKind::kBroadcast) input_ = output_;
    return {};
  }

  [[nodiscard]] Call call() const {
    Call call{.kind = subject_.kind, .type = subject_.type};
    call.input = input_;
    call.input_elems = in_elems_;
    call.output = output_;
    call.output_elems = out_elems_;
    call.options.op = subject_.op;
    call.options.root = subject_.root;
    return call;
  }

  void fill() {
    for (uint64_t i = 0; i < out_elems_; ++i) store(subject_.type, output_, i, 0);
    const uint64_t first = in_whole_ || !splits_row(subject_.kind) ? 0 : part_ * comm_.rank();
    for (uint64_t i = 0; i < in_elems_; ++i) {
      store(subject_.type, input_, i, value(comm_.rank(), first + i));
    }
  }

  [[nodiscard]] uint64_t wrong() const {
    uint64_t count = 0;
    for (uint64_t i = 0; i < out_elems_; ++i) {
      count += load(subject_.type, output_, i) != expected(i) ? 1 : 0;
    }
    return count;
  }

 private:
  void share() {
    const uint64_t own = part_ * comm_.rank() * size_of(subject_.type);
    const uint64_t shift = in_elems_ == out_elems_ ? 0 : own;
    if (in_elems_ <= out_elems_) {
      input_ = output_ + shift;
    } else {
      output_ = input_ + shift;
    }
  }

  [[nodiscard]] double value(uint32_t rank, uint64_t place) const {
    return contribution(subject_.type, subject_.op, rank, place);
  }

  [[nodiscard]] double expected(uint64_t i) const {
    const uint32_t n = comm_.num_ranks();
    switch (subject_.kind) {
      case CollectiveKind::kAllReduce:
      case CollectiveKind::kReduce: return reduced(subject_.type, subject_.op, n, i);
      case CollectiveKind::kReduceScatter:
        return reduced(subject_.type, subject_.op, n, part_ * comm_.rank() + i);
      case CollectiveKind::kBroadcast: return value(subject_.root, i);
      case CollectiveKind::kScatter: return value(subject_.root, part_ * comm_.rank() + i);
      case CollectiveKind::kAllGather:
      case CollectiveKind::kGather: return value(static_cast<uint32_t>(i / part_), i);
      case CollectiveKind::kAllToAll:
        return value(static_cast<uint32_t>(i / part_), part_ * comm_.rank() + i % part_);
      case CollectiveKind::kBarrier:
      case CollectiveKind::kSendRecv: break;
    }
    return 0;
  }

  const Communicator& comm_;
  const Subject& subject_;
  uint64_t row_;
  uint64_t part_;
  bool in_whole_ = false;
  bool out_whole_ = false;
  bool has_input_ = true;
  bool has_output_ = true;
  uint64_t in_elems_ = 0;
  uint64_t out_elems_ = 0;
  Bytes first_;
  Bytes second_;
  std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
};

}  // namespace

bool splits_row(CollectiveKind kind) {
  return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kGather ||
         kind == CollectiveKind::kScatter;
}

uint64_t elems_for(const Subject& subject, uint32_t num_ranks, uint64_t bytes) {
  const uint64_t elems = bytes / size_of(subject.type);
  return splits_row(subject.kind) ? elems / num_ranks * num_ranks : elems;
}

double bus_factor(CollectiveKind kind, uint32_t num_ranks) {
  const double others = (num_ranks - 1.0) / num_ranks;
  if (kind == CollectiveKind::kAllReduce) return 2 * others;
  return splits_row(kind) ? others : 1;
}

Result<Measured> measure(Communicator& comm, const Subject& subject, uint64_t elems,
                         Placing placing) {
  using Clock = std::chrono::steady_clock;
  Buffers buffers(comm, subject, elems);
  TUTTI_TRY(buffers.make(placing));
  const Call call = buffers.call();
  buffers.fill();
  for (uint32_t i = 0; i < subject.warmups; ++i) TUTTI_TRY(comm.submit(call).wait());
  TUTTI_TRY(comm.barrier().wait());
  const auto begin = Clock::now();
  for (uint32_t i = 0; i < subject.iterations; ++i) TUTTI_TRY(comm.submit(call).wait());
  const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
  Measured measured{took.count() / subject.iterations, 0};
  for (uint32_t i = 0; i < subject.checks; ++i) {
    // All have left the timed calls, so that no input is filled while it is read.
    TUTTI_TRY(comm.barrier().wait());
    buffers.fill();
    TUTTI_TRY(comm.submit(call).wait());
    measured.wrong += buffers.wrong();
  }
  TUTTI_TRY(comm.all_reduce(std::span(&measured.us, 1), {.op = Op::kMax}).wait());
  TUTTI_TRY(comm.all_reduce(std::span(&measured.wrong, 1)).wait());
  return measured;
}

}  // namespace tutti::tools::perf
