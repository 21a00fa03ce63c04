#include "comm/call_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/try.h"

namespace tutti::comm {
namespace {

// From here on some milliseconds do not matter.
constexpr uint64_t kLongDeadlineNs = 10'000'000'000;

class Checker {
 public:
  Checker(const Call& call, uint32_t num_ranks, Rank self)
      : call_(call), num_ranks_(num_ranks), self_(self.value) {}

  Result<CheckedCall> check() {
    if (static_cast<int>(call_.kind) >= kNumCollectiveKinds) {
      return Error{ErrorCode::kInvalidArgument, "no such collective"};
    }
    TUTTI_TRY(check_options());
    TUTTI_TRY(check_sizes());
    TUTTI_TRY(check_buffers());
    CheckedCall checked;
    checked.key = {call_.kind,
                   static_cast<uint32_t>(size_of(call_.type)),
                   is_pair() ? 0 : root(),
                   row_,
                   {call_.counts.begin(), call_.counts.end()}};
    checked.signature = {
        call_.counts.empty() ? row_ : digest(),
        root(),
        static_cast<uint8_t>(call_.kind),
        static_cast<uint8_t>(call_.type),
        static_cast<uint8_t>(is_reducing(call_.kind) ? call_.options.op : Op::kSum),
        static_cast<uint8_t>(call_.counts.empty() ? 0 : 1)};
    return checked;
  }

 private:
  [[nodiscard]] bool is_pair() const { return call_.kind == CollectiveKind::kSendRecv; }
  // Of a message: its sender.
  [[nodiscard]] uint32_t root() const {
    if (is_pair()) return call_.receives ? call_.peer : self_;
    return is_rooted(call_.kind) ? call_.options.root : 0;
  }
  [[nodiscard]] bool is_root() const { return self_ == root(); }

  [[nodiscard]] Error refuse(std::string_view what) const {
    return {ErrorCode::kInvalidArgument, fmt::format("{}: {}", to_string(call_.kind), what)};
  }

  Status check_options() const {
    if (static_cast<int>(call_.type) >= kNumDataTypes) return refuse("no such type of elements");
    if (static_cast<int>(call_.options.op) >= kNumOps) return refuse("no such operator");
    if (is_pair() && call_.peer >= num_ranks_) {
      return refuse(fmt::format("peer {} of {} ranks", call_.peer, num_ranks_));
    }
    if (root() >= num_ranks_) {
      return refuse(fmt::format("root {} of {} ranks", root(), num_ranks_));
    }
    if (is_reducing(call_.kind) && !valid(call_.type, call_.options.op)) {
      return refuse(fmt::format("{} is not defined for {}", to_string(call_.options.op),
                                to_string(call_.type)));
    }
    return {};
  }

  // Sets the length of the row, and refuses lengths that do not fit it.
  Status check_sizes() {
    if (!call_.counts.empty()) return check_counts();
    switch (call_.kind) {
      case CollectiveKind::kAllReduce: return row_is(call_.input_elems, call_.output_elems);
      case CollectiveKind::kReduce:
        return row_is(call_.input_elems, is_root() ? call_.output_elems : call_.input_elems);
      case CollectiveKind::kBroadcast:
        return row_is(call_.output_elems, is_root() ? call_.input_elems : call_.output_elems);
      case CollectiveKind::kAllGather: return row_is_parts(call_.output_elems, call_.input_elems);
      case CollectiveKind::kReduceScatter:
        return row_is_parts(call_.input_elems, call_.output_elems);
      case CollectiveKind::kGather:
        return row_is_parts(is_root() ? call_.output_elems : call_.input_elems * num_ranks_,
                            call_.input_elems);
      case CollectiveKind::kScatter:
        return row_is_parts(is_root() ? call_.input_elems : call_.output_elems * num_ranks_,
                            call_.output_elems);
      case CollectiveKind::kAllToAll:
        TUTTI_TRY(row_is(call_.input_elems, call_.output_elems));
        return row_is_parts(row_, row_ / num_ranks_);
      case CollectiveKind::kBarrier: return row_is(0, 0);
      case CollectiveKind::kSendRecv: {
        const uint64_t elems = call_.receives ? call_.output_elems : call_.input_elems;
        return row_is(elems, elems);
      }
    }
    return {};
  }

  Status row_is(uint64_t row, uint64_t other) {
    row_ = row;
    if (row != other) {
      return refuse(fmt::format("input has {} elements and output {}", call_.input_elems,
                                call_.output_elems));
    }
    if (row > uint64_t{INT64_MAX} / size_of(call_.type)) {
      return refuse(fmt::format("{} elements of {} are more than memory can hold", row,
                                to_string(call_.type)));
    }
    return {};
  }

  Status row_is_parts(uint64_t row, uint64_t part) {
    TUTTI_TRY(row_is(row, row));
    const bool overflows = part > uint64_t{INT64_MAX} / num_ranks_;
    if (overflows || part * num_ranks_ != row) {
      return refuse(
          fmt::format("input has {} elements and output {}; the larger must be {} times "
                      "the smaller, once a rank",
                      call_.input_elems, call_.output_elems, num_ranks_));
    }
    return {};
  }

  Result<uint64_t> sum_of(std::span<const uint64_t> counts) const {
    if (counts.size() != num_ranks_) {
      return refuse(fmt::format("{} counts for {} ranks", counts.size(), num_ranks_));
    }
    uint64_t sum = 0;
    for (const uint64_t count : counts) {
      if (count > uint64_t{INT64_MAX} - sum) return refuse("the counts overflow");
      sum += count;
    }
    return sum;
  }

  Status check_counts() {
    switch (call_.kind) {
      case CollectiveKind::kAllGather:
      case CollectiveKind::kReduceScatter:
      case CollectiveKind::kGather:
      case CollectiveKind::kScatter: return check_blocks();
      case CollectiveKind::kAllToAll: return check_exchange();
      case CollectiveKind::kAllReduce:
      case CollectiveKind::kReduce:
      case CollectiveKind::kBroadcast:
      case CollectiveKind::kBarrier:
      case CollectiveKind::kSendRecv: break;
    }
    return refuse("takes no counts");
  }

  Status check_exchange() {
    TUTTI_ASSIGN(const uint64_t sent, sum_of(call_.counts));
    TUTTI_ASSIGN(const uint64_t received, sum_of(call_.output_counts));
    TUTTI_TRY(row_is(sent, sent));
    TUTTI_TRY(row_is(received, received));
    if (call_.counts[self_] != call_.output_counts[self_]) {
      return refuse(fmt::format("rank {} sends {} elements to itself and expects {}", self_,
                                call_.counts[self_], call_.output_counts[self_]));
    }
    return fits_counts(sent, received);
  }

  Status check_blocks() {
    TUTTI_ASSIGN(const uint64_t sum, sum_of(call_.counts));
    TUTTI_TRY(row_is(sum, sum));
    const uint64_t own = call_.counts[self_];
    const bool whole_is_output = call_.kind == CollectiveKind::kAllGather ||
                                 (call_.kind == CollectiveKind::kGather && is_root());
    const bool whole_is_input = call_.kind == CollectiveKind::kReduceScatter ||
                                (call_.kind == CollectiveKind::kScatter && is_root());
    const bool has_input = call_.kind != CollectiveKind::kScatter || is_root();
    const bool has_output = call_.kind != CollectiveKind::kGather || is_root();
    return fits_counts(has_input ? (whole_is_input ? sum : own) : call_.input_elems,
                       has_output ? (whole_is_output ? sum : own) : call_.output_elems);
  }

  Status fits_counts(uint64_t input_elems, uint64_t output_elems) const {
    if (call_.input_elems == input_elems && call_.output_elems == output_elems) return {};
    return refuse(
        fmt::format("by the counts input has {} elements and output {}, but they have {} and {}",
                    input_elems, output_elems, call_.input_elems, call_.output_elems));
  }

  Status check_buffers() const {
    if (call_.input == nullptr && call_.input_elems != 0) return refuse("input is null");
    if (call_.output == nullptr && call_.output_elems != 0) return refuse("output is null");
    const auto* const in = static_cast<const std::byte*>(call_.input);
    const auto* const out = static_cast<const std::byte*>(call_.output);
    const uint64_t in_bytes = call_.input_elems * size_of(call_.type);
    const uint64_t out_bytes = call_.output_elems * size_of(call_.type);
    if (in_bytes == 0 || out_bytes == 0) return {};
    if (in + in_bytes <= out || out + out_bytes <= in) return {};
    if (is_in_place(in, out)) return {};
    return refuse("input and output overlap, and not as a call in place has them");
  }

  // Where the smaller buffer may lie in the larger: at this rank's block.
  [[nodiscard]] bool is_in_place(const std::byte* in, const std::byte* out) const {
    const auto bytes = static_cast<std::ptrdiff_t>(size_of(call_.type));
    const auto block = static_cast<std::ptrdiff_t>(own_block()) * bytes;
    switch (call_.kind) {
      case CollectiveKind::kAllReduce:
      case CollectiveKind::kReduce:
      case CollectiveKind::kBroadcast: return in == out;
      case CollectiveKind::kAllGather:
      case CollectiveKind::kGather: return in == out + block;
      case CollectiveKind::kReduceScatter:
      case CollectiveKind::kScatter: return out == in + block;
      case CollectiveKind::kAllToAll:
      case CollectiveKind::kBarrier:
      case CollectiveKind::kSendRecv: return false;
    }
    return false;
  }

  // First element of this rank's block in the row.
  [[nodiscard]] uint64_t own_block() const {
    if (call_.counts.empty()) return row_ / num_ranks_ * self_;
    uint64_t begin = 0;
    for (uint32_t r = 0; r < self_; ++r) begin += call_.counts[r];
    return begin;
  }

  [[nodiscard]] uint64_t digest() const {
    uint64_t hash = call_.counts.size();
    for (const uint64_t count : call_.counts) {
      hash = (hash ^ count) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 29;
    }
    return hash;
  }

  const Call& call_;
  uint32_t num_ranks_;
  uint32_t self_;
  uint64_t row_ = 0;
};

}  // namespace

Result<CheckedCall> check_call(const Call& call, uint32_t num_ranks, Rank self) {
  return Checker(call, num_ranks, self).check();
}

uint64_t deadline_of(const CallOptions& options) {
  const auto limit = static_cast<uint64_t>(std::max<int64_t>(options.deadline.count(), 0));
  return (limit < kLongDeadlineNs ? base::now_ns() : base::coarse_now_ns()) + limit;
}

}  // namespace tutti::comm
