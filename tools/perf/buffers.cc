#include "tools/perf/buffers.h"

#include "base/try.h"
#include "tools/perf/numbers.h"

namespace tutti::tools::perf {

Status Bytes::make(const Communicator& comm, const Subject& subject, size_t bytes) {
  if (subject.shared_memory) {
    TUTTI_ASSIGN(shared_, allocate_bytes(comm, bytes));
  } else {
    ordinary_.resize(bytes);
  }
  return {};
}

Buffers::Buffers(const Communicator& comm, const Subject& subject, uint64_t elems)
    : rank_(comm.rank()),
      num_ranks_(comm.num_ranks()),
      subject_(subject),
      row_(elems),
      part_(splits_row(subject.kind) ? elems / comm.num_ranks() : elems) {
  const bool is_root = rank_ == subject.root;
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

Status Buffers::make(const Communicator& comm, Placing placing) {
  TUTTI_TRY(first_.make(comm, subject_, (in_elems_ + 1) * size_of(subject_.type)));
  TUTTI_TRY(second_.make(comm, subject_, (out_elems_ + 1) * size_of(subject_.type)));
  input_ = first_.data();
  output_ = second_.data();
  const bool both = in_elems_ != 0 && out_elems_ != 0;
  if (placing == Placing::kInPlace && both) share();
  if (subject_.kind == CollectiveKind::kBroadcast) input_ = output_;
  return {};
}

Call Buffers::call() const {
  Call call{.kind = subject_.kind, .type = subject_.type};
  call.input = input_;
  call.input_elems = in_elems_;
  call.output = output_;
  call.output_elems = out_elems_;
  call.options.op = subject_.op;
  call.options.root = subject_.root;
  return call;
}

void Buffers::fill() {
  for (uint64_t i = 0; i < out_elems_; ++i) store(subject_.type, output_, i, 0);
  const uint64_t first = in_whole_ || !splits_row(subject_.kind) ? 0 : part_ * rank_;
  for (uint64_t i = 0; i < in_elems_; ++i) {
    store(subject_.type, input_, i, value(rank_, first + i));
  }
}

uint64_t Buffers::wrong() const {
  uint64_t count = 0;
  for (uint64_t i = 0; i < out_elems_; ++i) {
    count += load(subject_.type, output_, i) != expected(i) ? 1 : 0;
  }
  return count;
}

void Buffers::share() {
  const uint64_t own = part_ * rank_ * size_of(subject_.type);
  const uint64_t shift = in_elems_ == out_elems_ ? 0 : own;
  if (in_elems_ <= out_elems_) {
    input_ = output_ + shift;
  } else {
    output_ = input_ + shift;
  }
}

double Buffers::value(uint32_t rank, uint64_t place) const {
  return contribution(subject_.type, subject_.op, rank, place);
}

double Buffers::expected(uint64_t i) const {
  switch (subject_.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce: return reduced(subject_.type, subject_.op, num_ranks_, i);
    case CollectiveKind::kReduceScatter:
      return reduced(subject_.type, subject_.op, num_ranks_, part_ * rank_ + i);
    case CollectiveKind::kBroadcast: return value(subject_.root, i);
    case CollectiveKind::kScatter: return value(subject_.root, part_ * rank_ + i);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather: return value(static_cast<uint32_t>(i / part_), i);
    case CollectiveKind::kAllToAll:
      return value(static_cast<uint32_t>(i / part_), part_ * rank_ + i % part_);
    case CollectiveKind::kBarrier:
    case CollectiveKind::kSendRecv: break;
  }
  return 0;
}

}  // namespace tutti::tools::perf
