// All ranks of a job must choose alike, or they would run different schedules for one operation;
// and processes may find different files. So each says which table it has when the ranks meet, and
// which schedule when a communicator is given one, and all of them compare: a difference is the
// same error on every rank, before any operation.
#pragma once

#include <span>
#include <string_view>

#include "comm/tuning.h"
#include "transport/shm/remark.h"
#include "tutti/result.h"

namespace tutti::comm {

// What a rank says about its table or schedule, or about why it has none to use.
[[nodiscard]] transport::Remark remark_on(const Result<TuningTable>& table);
[[nodiscard]] transport::Remark remark_on(const Result<LoadedSchedule>& loaded);

// How a difference is told.
struct Dispute {
  std::string_view what;
  std::string_view advice;
};
inline constexpr Dispute kTables = {
    "the ranks of this job have different tuning tables",
    "set TUTTI_TUNING to one file for all of them, or to none, and TUTTI_SCHEDULE alike"};
inline constexpr Dispute kSchedules = {
    "the members of this communicator brought different schedules",
    "give all of them the same schedule and the same sizes"};

// `remarks` are those of all ranks, in their order. kInvalidArgument naming the ranks and what they
// have.
[[nodiscard]] Status check_agreement(std::span<const transport::Remark> remarks,
                                     const Dispute& dispute = kTables);

}  // namespace tutti::comm
