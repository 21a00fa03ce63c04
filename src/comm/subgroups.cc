// Communicators made from others: by a list, by colors, with another table of algorithms or with a
// schedule that all bring along.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/try.h"
#include "comm/group.h"
#include "comm/keys.h"
#include "comm/tuning_agreement.h"

namespace tutti::comm {
namespace {

// What a rank says of itself in a split.
struct Ticket {
  int64_t color;
  int64_t key;
};
static_assert(sizeof(Ticket) == 2 * sizeof(int64_t), "gathered as two numbers a rank");

}  // namespace

std::shared_ptr<Group> Group::part(uint64_t id, std::span<const uint32_t> ranks) const {
  std::vector<Rank> members;
  for (const uint32_t rank : ranks) members.push_back(members_[rank]);
  return std::make_shared<Group>(node_, id, std::move(members), tuning_);
}

Result<std::shared_ptr<Group>> Group::subset(std::span<const uint32_t> ranks) {
  uint64_t key = mix(id_, kSubset);
  for (const uint32_t rank : ranks) {
    if (rank >= num_ranks()) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("subset: rank {} of {}", rank, num_ranks())};
    }
    key = mix(key, rank);
  }
  const std::set<uint32_t> distinct(ranks.begin(), ranks.end());
  if (distinct.size() != ranks.size()) {
    return Error{ErrorCode::kInvalidArgument, "subset: a rank is named twice"};
  }
  if (!distinct.contains(self_.value)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("subset: rank {} calls it and is not in it", self_.value)};
  }
  return part(mix(key, numbers_.next_use(key)), ranks);
}

Result<std::shared_ptr<Group>> Group::split(int64_t color, int64_t key,
                                            const CallOptions& options) {
  const uint64_t scope = key_of(mix(id_, kSplit), options);
  const uint64_t number = numbers_.next_use(scope);
  const uint64_t id = mix(scope, number);
  const Ticket own{color, key};
  std::vector<Ticket> all(num_ranks());
  const Call gather{.kind = CollectiveKind::kAllGather,
                    .type = DataType::kInt64,
                    .input = &own,
                    .input_elems = 2,
                    .output = all.data(),
                    .output_elems = 2 * all.size(),
                    .options = options};
  TUTTI_ASSIGN(const CheckedCall checked, check_call(gather, num_ranks(), self_));
  // Liveness: it ends when all members have called, when one is lost, or at the deadline.
  TUTTI_TRY(start(gather, checked, {{id, number}, id_, members_, programs_}).wait());
  std::vector<uint32_t> ranks;
  for (uint32_t r = 0; r < all.size(); ++r) {
    if (all[r].color == color) ranks.push_back(r);
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [&](uint32_t a, uint32_t b) { return all[a].key < all[b].key; });
  return part(mix(mix(id, kSubset), static_cast<uint64_t>(color)), ranks);
}

std::shared_ptr<Group> Group::tuned(TuningTable tuning) {
  const uint64_t key = mix(id_, kTuned);
  return std::make_shared<Group>(node_, mix(key, numbers_.next_use(key)),
                                 std::vector<Rank>(members_.begin(), members_.end()),
                                 node_->shelf.keep(std::move(tuning)));
}

Result<std::shared_ptr<Group>> Group::with_schedule(Result<LoadedSchedule> loaded,
                                                    const CallOptions& options) {
  const uint64_t scope = key_of(mix(id_, kScheduled), options);
  const uint64_t number = numbers_.next_use(scope);
  const uint64_t id = mix(scope, number);
  TuningTable table = tuning_ == nullptr ? node_->shelf.tuning() : *tuning_;
  Status added = loaded ? check_members(*loaded, num_ranks()) : Status(loaded.error());
  if (added) added = add_schedule(table.schedules, *loaded);
  // Also about a schedule that cannot be used: then it is everybody's error.
  const transport::Remark own = remark_on(added ? loaded : Result<LoadedSchedule>(added.error()));
  std::vector<transport::Remark> all(num_ranks());
  const Call gather{.kind = CollectiveKind::kAllGather,
                    .type = DataType::kUint8,
                    .input = own.data(),
                    .input_elems = own.size(),
                    .output = all.data(),
                    .output_elems = own.size() * all.size(),
                    .options = options};
  TUTTI_ASSIGN(const CheckedCall checked, check_call(gather, num_ranks(), self_));
  // Liveness: it ends when all members have called, when one is lost, or at the deadline.
  TUTTI_TRY(start(gather, checked, {{id, number}, id_, members_, programs_}).wait());
  if (Status agreed = check_agreement(all, kSchedules); !agreed) {
    return Error{added ? agreed.error().code : added.error().code, agreed.error().message};
  }
  return std::make_shared<Group>(node_, mix(id, kScheduled),
                                 std::vector<Rank>(members_.begin(), members_.end()),
                                 node_->shelf.keep(std::move(table)));
}

void Group::abort() {
  node_->engine.abort(id_, members_);
  notice_abort();
}

void Group::notice_abort() {
  const Rank by = node_->engine.aborter_of(id_, members_);
  if (by == kNoRank) return;
  const auto place = std::find(members_.begin(), members_.end(), by) - members_.begin();
  self_mail_.abort({ErrorCode::kAborted,
                    fmt::format("rank {} aborted the communicator: send and recv of rank {} with "
                                "itself cannot complete",
                                place, self_.value)});
}

}  // namespace tutti::comm
