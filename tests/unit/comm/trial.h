// One call of one rank with numbers whose result is known exactly, whatever the order of reduction:
// they are small enough to be exact in every type. Compared with a plain reference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tutti/communicator.h"
#include "tutti/memory.h"

namespace tutti::test {

inline constexpr CollectiveKind kBlockKinds[] = {CollectiveKind::kAllGather,
                                                 CollectiveKind::kGather, CollectiveKind::kScatter,
                                                 CollectiveKind::kReduceScatter};

struct Case {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Op op = Op::kSum;
  std::vector<uint64_t> counts = {};  // of each block; kinds with one block look at the first
  bool is_uneven = false;
  bool in_place = false;
  uint32_t root = 0;
  bool is_shared = false;  // buffers from tutti::allocate
};

// What rank r of n gives at place i. Of a sum or product at most three ranks have a part at any
// place, so that it stays below 8; but every rank has one somewhere.
inline int64_t value(Op op, uint64_t n, uint64_t r, uint64_t i) {
  const bool takes_part = (i + n - r) % n < 3;
  switch (op) {
    case Op::kSum:
    case Op::kAvg:
    case Op::kPremulSum: return takes_part ? 1 + static_cast<int64_t>(i / n % 2) : 0;
    case Op::kProd: return takes_part ? 2 : 1;
    case Op::kMin:
    case Op::kMax: return static_cast<int64_t>((i * 3 + r * 5) % 8);
    case Op::kBitAnd:
    case Op::kBitOr:
    case Op::kBitXor: return static_cast<int64_t>((i * 37 + r * 101) % 128);
  }
  return 0;
}

// After so many places the same numbers come again, so that long rows are copied and not made.
inline uint64_t period(Op op, uint64_t n) {
  switch (op) {
    case Op::kSum:
    case Op::kProd:
    case Op::kAvg:
    case Op::kPremulSum: return 2 * n;
    case Op::kMin:
    case Op::kMax: return 8;
    case Op::kBitAnd:
    case Op::kBitOr:
    case Op::kBitXor: return 128;
  }
  return 1;
}

inline int64_t combine(Op op, int64_t a, int64_t b) {
  switch (op) {
    case Op::kSum:
    case Op::kAvg:
    case Op::kPremulSum: return a + b;
    case Op::kProd: return a * b;
    case Op::kMin: return std::min(a, b);
    case Op::kMax: return std::max(a, b);
    case Op::kBitAnd: return a & b;
    case Op::kBitOr: return a | b;
    case Op::kBitXor: return a ^ b;
  }
  return 0;
}

template <class T>
T make(double number) {
  constexpr bool kIsDirect = std::integral<T> || std::same_as<T, double>;  // integers: towards zero
  if constexpr (kIsDirect) return static_cast<T>(number);
  return static_cast<T>(static_cast<float>(number));
}

inline constexpr double kFactor = 2;

template <class T>
T reduced(Op op, uint64_t n, uint64_t i) {
  int64_t result = value(op, n, 0, i);
  for (uint64_t r = 1; r < n; ++r) result = combine(op, result, value(op, n, r, i));
  auto number = static_cast<double>(result);
  if (op == Op::kPremulSum) number *= kFactor;
  if (op != Op::kAvg) return make<T>(number);
  if constexpr (std::integral<T> || std::same_as<T, double>)
    return make<T>(number / static_cast<double>(n));
  return static_cast<T>(static_cast<float>(number) / static_cast<float>(n));
}

// One call of one rank: what it gives, what it must get.
template <class T>
class Trial {
 public:
  Trial(Communicator& comm, const Case& what) : comm_(comm), case_(what), n_(comm.num_ranks()) {
    begins_.push_back(0);
    for (const uint64_t count : what.counts) begins_.push_back(begins_.back() + count);
    fill();
  }

  // "" when all is as it must be.
  [[nodiscard]] std::string run() {
    const bool out_in_in = case_.in_place && in_.size() > want_.size();
    out_.assign(want_.size(), make<T>(3));
    T* input = in_.data();
    T* output = out_.data();
    if (case_.is_shared) {
      shared_in_ = allocate<T>(comm_, in_.size()).value();
      shared_out_ = allocate<T>(comm_, out_.size()).value();
      input = std::copy(in_.begin(), in_.end(), shared_in_.begin()) - in_.size();
      output = shared_out_.data();
    }
    if (case_.in_place && out_in_in) output = input + in_place_at();
    if (case_.in_place && !out_in_in) {
      std::copy(in_.begin(), in_.end(), output + in_place_at());
      input = output + in_place_at();
    }
    Call call{.kind = case_.kind, .type = data_type_of<T>};
    call.input = input;
    call.input_elems = in_.size();
    call.output = output;
    call.output_elems = want_.size();
    if (case_.is_uneven) call.counts = case_.counts;
    call.options = {.op = case_.op, .root = case_.root, .factor = kFactor};
    if (const Status status = comm_.submit(call).wait(); !status) return status.error().message;
    return difference(output);
  }

 private:
  [[nodiscard]] uint64_t self() const { return comm_.rank(); }
  [[nodiscard]] bool is_root() const { return self() == case_.root; }
  [[nodiscard]] uint64_t whole() const { return begins_[n_]; }
  [[nodiscard]] auto in_place_at() const {
    const bool has_blocks = std::count(std::begin(kBlockKinds), std::end(kBlockKinds), case_.kind);
    return static_cast<std::ptrdiff_t>(has_blocks ? begins_[self()] : 0);
  }
  [[nodiscard]] T given(uint64_t rank, uint64_t i) const {
    return make<T>(static_cast<double>(value(case_.op, n_, rank, i)));
  }
  void append(std::vector<T>& row, uint64_t count, const std::function<T(uint64_t)>& element) {
    const uint64_t begin = row.size();
    row.resize(begin + count);
    uint64_t made = std::min(count, period(case_.op, n_));
    for (uint64_t i = 0; i < made; ++i) row[begin + i] = element(i);
    while (made < count) {
      const uint64_t copied = std::min(made, count - made);
      std::memcpy(&row[begin + made], &row[begin], copied * sizeof(T));
      made += copied;
    }
  }
  void give(uint64_t first, uint64_t count) {
    append(in_, count, [&](uint64_t i) { return given(self(), first + i); });
  }
  void want(uint64_t rank, uint64_t first, uint64_t count) {
    append(want_, count, [&](uint64_t i) { return given(rank, first + i); });
  }
  void want_reduced(uint64_t first, uint64_t count) {
    append(want_, count, [&](uint64_t i) { return reduced<T>(case_.op, n_, first + i); });
  }
  [[nodiscard]] std::string difference(const T* output) const {
    if (want_.empty() || std::memcmp(output, want_.data(), want_.size() * sizeof(T)) == 0)
      return "";
    uint64_t i = 0;
    while (std::memcmp(output + i, &want_[i], sizeof(T)) == 0) ++i;
    return "element " + std::to_string(i) + " of " + std::to_string(want_.size()) + " is wrong";
  }

  void fill() {
    const uint64_t first = case_.counts.empty() ? 0 : case_.counts[0];
    const uint64_t own = begins_[self()];
    const uint64_t own_count = case_.counts[self()];
    switch (case_.kind) {
      case CollectiveKind::kAllReduce:
      case CollectiveKind::kReduce:
        give(0, first);
        if (case_.kind == CollectiveKind::kAllReduce || is_root()) want_reduced(0, first);
        break;
      case CollectiveKind::kBroadcast:
        if (is_root() || case_.in_place) give(0, first);
        want(case_.root, 0, first);
        break;
      case CollectiveKind::kAllGather:
      case CollectiveKind::kGather:
        give(0, own_count);
        for (uint64_t r = 0; r < n_; ++r) {
          if (case_.kind == CollectiveKind::kAllGather || is_root()) want(r, 0, case_.counts[r]);
        }
        break;
      case CollectiveKind::kReduceScatter:
        give(0, whole());
        want_reduced(own, own_count);
        break;
      case CollectiveKind::kScatter:
        if (is_root()) give(0, whole());
        want(case_.root, own, own_count);
        break;
      case CollectiveKind::kAllToAll:
        give(0, whole());
        for (uint64_t r = 0; r < n_; ++r) want(r, own, own_count);
        break;
      case CollectiveKind::kBarrier:
      case CollectiveKind::kSendRecv: break;
    }
  }

  Communicator& comm_;
  const Case& case_;
  uint64_t n_;
  std::vector<uint64_t> begins_;
  std::vector<T> in_;
  std::vector<T> out_;
  Buffer<T> shared_in_;
  Buffer<T> shared_out_;
  std::vector<T> want_;
};

// What a call in place means at a rank that has only one of the buffers, or of all_to_all: nothing.
inline bool can_be_in_place(const Case& what, uint32_t rank) {
  switch (what.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter: return true;
    case CollectiveKind::kReduce:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter: return rank == what.root;
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kBarrier:
    case CollectiveKind::kSendRecv: return false;
  }
  return false;
}

template <class T>
void check(Communicator& comm, Case what) {
  what.in_place = what.in_place && can_be_in_place(what, comm.rank());
  const std::string wrong = Trial<T>(comm, what).run();
  ASSERT_EQ(wrong, "") << to_string(what.kind) << " of " << to_string(data_type_of<T>) << ", "
                       << to_string(what.op) << ", " << what.counts[0] << " elements a block"
                       << (what.is_uneven ? ", uneven" : "") << (what.in_place ? ", in place" : "")
                       << (what.is_shared ? ", shared" : "") << ", root " << what.root << ", rank "
                       << comm.rank() << " of " << comm.num_ranks();
}

}  // namespace tutti::test
