#include "tools/chaos/exchange.h"

#include <algorithm>
#include <cstring>

#include "tools/perf/numbers.h"

namespace tutti::tools::chaos {
namespace {

// Contributions have periods of 5, 7 and 8 elements.
constexpr uint64_t kPeriod = uint64_t{5} * 7 * 8;

}  // namespace

Exchange::Exchange(const Task& task, uint32_t place, uint32_t num_members)
    : task_(task),
      place_(place),
      num_members_(num_members),
      elem_bytes_(size_of(task.type)),
      input_(input_region()),
      output_(output_region()) {
  first_.resize((input_.elems + 1) * elem_bytes_);
  second_.resize((output_.elems + 1) * elem_bytes_);
  input_at_ = first_.data();
  output_at_ = second_.data();
  if (task.kind == CollectiveKind::kBroadcast) input_at_ = output_at_;
  const bool has_both = input_.elems != 0 && output_.elems != 0;
  if (!task.in_place || !has_both) return;
  if (input_.elems <= output_.elems) {
    input_at_ = output_at_ + (input_.begin - output_.begin) * elem_bytes_;
  } else {
    output_at_ = input_at_ + (output_.begin - input_.begin) * elem_bytes_;
  }
}

Exchange::Region Exchange::block(uint32_t member) const {
  Region region;
  for (uint32_t m = 0; m < member; ++m) region.begin += task_.blocks[m];
  region.elems = task_.blocks[member];
  return region;
}

Exchange::Region Exchange::input_region() const {
  switch (task_.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll: return whole();
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather: return block(place_);
    case CollectiveKind::kScatter: return is_root() ? whole() : Region{};
    case CollectiveKind::kBarrier:
    case CollectiveKind::kSendRecv: break;
  }
  return {};
}

Exchange::Region Exchange::output_region() const {
  switch (task_.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll: return whole();
    case CollectiveKind::kReduce:
    case CollectiveKind::kGather: return is_root() ? whole() : Region{};
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kScatter: return block(place_);
    case CollectiveKind::kBarrier:
    case CollectiveKind::kSendRecv: break;
  }
  return {};
}

std::vector<std::byte> Exchange::contribution_pattern(uint32_t member) const {
  std::vector<std::byte> pattern(kPeriod * elem_bytes_);
  for (uint64_t i = 0; i < kPeriod; ++i) {
    const double value = perf::contribution(task_.type, task_.op, member, i + task_.index);
    perf::store(task_.type, pattern.data(), i, value);
  }
  return pattern;
}

std::vector<std::byte> Exchange::reduced_pattern() const {
  std::vector<std::byte> pattern(kPeriod * elem_bytes_);
  for (uint64_t i = 0; i < kPeriod; ++i) {
    const double value = perf::reduced(task_.type, task_.op, num_members_, i + task_.index);
    perf::store(task_.type, pattern.data(), i, value);
  }
  return pattern;
}

void Exchange::fill() {
  constexpr int kGarbage = 0x5A;
  std::memset(output_at_, kGarbage, output_.elems * elem_bytes_);
  if (task_.kind == CollectiveKind::kBroadcast && !is_root()) return;
  const std::vector<std::byte> pattern = contribution_pattern(place_);
  for (uint64_t i = 0; i < input_.elems;) {
    const uint64_t phase = (input_.begin + i) % kPeriod;
    const uint64_t run = std::min(kPeriod - phase, input_.elems - i);
    std::memcpy(input_at_ + i * elem_bytes_, pattern.data() + phase * elem_bytes_,
                run * elem_bytes_);
    i += run;
  }
}

Call Exchange::call() const {
  Call call{.kind = task_.kind, .type = task_.type};
  call.input = input_at_;
  call.input_elems = input_.elems;
  call.output = output_at_;
  call.output_elems = output_.elems;
  if (task_.is_uneven) call.counts = task_.blocks;
  call.options.op = task_.op;
  call.options.root = task_.root;
  return call;
}

// Elements of the output from place `at` on, against the places `from` of the pattern's row.
uint64_t Exchange::num_differing(const std::vector<std::byte>& pattern, uint64_t at,
                                 Region from) const {
  uint64_t differing = 0;
  for (uint64_t i = 0; i < from.elems;) {
    const uint64_t phase = (from.begin + i) % kPeriod;
    const uint64_t run = std::min(kPeriod - phase, from.elems - i);
    const std::byte* const want = pattern.data() + phase * elem_bytes_;
    const std::byte* const got = output_at_ + (at + i) * elem_bytes_;
    if (std::memcmp(want, got, run * elem_bytes_) != 0) {
      for (uint64_t k = 0; k < run; ++k) {
        const uint64_t offset = k * elem_bytes_;
        differing += std::memcmp(want + offset, got + offset, elem_bytes_) != 0 ? 1 : 0;
      }
    }
    i += run;
  }
  return differing;
}

uint64_t Exchange::num_wrong() const {
  if (output_.elems == 0) return 0;
  if (is_reducing(task_.kind)) return num_differing(reduced_pattern(), 0, output_);
  if (is_rooted(task_.kind) && task_.kind != CollectiveKind::kGather) {
    return num_differing(contribution_pattern(task_.root), 0, output_);
  }
  uint64_t wrong = 0;
  for (uint32_t member = 0; member < num_members_; ++member) {
    const Region theirs = block(member);
    // all_to_all: what the member has at this rank's block; gathers: the member's own block.
    const Region from = task_.kind == CollectiveKind::kAllToAll ? block(place_) : theirs;
    wrong += num_differing(contribution_pattern(member), theirs.begin, from);
  }
  return wrong;
}

}  // namespace tutti::tools::chaos
