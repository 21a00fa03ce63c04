// All ranks of a job must choose alike, or they would run different schedules for one operation;
// and processes may find different files. So each says which table it has when the ranks meet, and
// all of them compare: a difference is the same error on every rank, before any operation.
#pragma once

#include <span>

#include "comm/tuning.h"
#include "transport/shm/remark.h"
#include "tutti/result.h"

namespace tutti::comm {

// What a rank says about its table, or about why it has none to use.
[[nodiscard]] transport::Remark remark_on(const Result<TuningTable>& table);

// `remarks` are those of all ranks, in their order. kInvalidArgument naming the ranks and their
// tables.
[[nodiscard]] Status check_agreement(std::span<const transport::Remark> remarks);

}  // namespace tutti::comm
