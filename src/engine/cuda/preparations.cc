#include "engine/cuda/preparations.h"

#include <fmt/format.h>

#include "base/try.h"

namespace tutti::engine::cuda {

Result<uint32_t> Preparations::add(const Submission& submission) {
  if (table_ == nullptr) TUTTI_TRY(make_table());
  if (free_.empty()) TUTTI_TRY(grow());
  const uint32_t place = free_.back();
  Prepared prepared{};
  prepared.submission = submission;
  prepared.submission.prepared = &table_->operations[place];
  TUTTI_TRY(write(&table_->operations[place], prepared));
  TUTTI_TRY(write(&table_->arms[place], 0U));
  free_.pop_back();
  return place;
}

Status Preparations::number(uint32_t place, uint64_t operation) {
  return write(&table_->operations[place].submission.operation, operation);
}

Status Preparations::make_table() {
  TUTTI_ASSIGN(std::byte* const at, device_.allocate(sizeof(PreparedTable)));
  auto* const table = reinterpret_cast<PreparedTable*>(at);
  TUTTI_TRY(write(&state_->prepared, table));
  table_ = table;
  return {};
}

Status Preparations::grow() {
  if (num_places_ == kMostPrepared) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("a rank has at most {} operations prepared or in graphs at a time: "
                             "destroy graphs that are not needed",
                             kMostPrepared)};
  }
  TUTTI_TRY(write(&state_->num_prepared, num_places_ + 1));
  free_.push_back(num_places_++);
  return {};
}

Completion Preparations::failure_of(const Completion& told) {
  // Pairs with the release in end_triggered.
  const uint32_t outcome = load_acquire(&told.outcome);
  if (outcome == static_cast<uint32_t>(Outcome::kUnderWay)) return {};
  return {outcome & (kBroken - 1), told.member, told.signature, told.stall};
}

}  // namespace tutti::engine::cuda
