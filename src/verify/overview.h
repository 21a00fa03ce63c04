// The verifier's replay of a schedule of many ranks, summed up so that it fits on a screen: ranks
// in rows of neighbours, data in columns, and for each round how much of its share a field holds.
// Rounds are those of history.h, which has the same cell by cell.
//
// What counts is the most that a rank has held of a chunk so far, wherever in its memory: of a sum,
// how many contributions; of other data, whether it is there. An all_to_all has more chunks than
// anybody could show; its columns are positions of the output, which are the ranks that data comes
// from. A barrier has one column: whose entering a rank has heard of.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/schedule.h"
#include "tutti/result.h"
#include "verify/course.h"
#include "verify/doings.h"

namespace tutti::verify {

// A field is row * columns + column. Its level: 0 holds nothing, kWholeLevel everything. Between
// them, where a rank holds m of p contributions to a chunk in the mean, it is 1 + 253 log(1 + m) /
// log(1 + p), rounded down: sums double, and one of two hundred must be told from none. Of data
// that is not summed it is 1 + 253 times the part that is there.
inline constexpr uint8_t kWholeLevel = 255;
struct LevelChange {
  uint32_t field = 0;
  uint8_t level = 0;

  friend bool operator==(const LevelChange&, const LevelChange&) = default;
};

struct RowTraffic {
  uint32_t from = 0;  // row
  uint32_t to = 0;
  uint64_t num_messages = 0;

  friend bool operator==(const RowTraffic&, const RowTraffic&) = default;
};

struct RowRight {
  uint32_t row = 0;
  uint64_t num_right = 0;

  friend bool operator==(const RowRight&, const RowRight&) = default;
};

struct OverviewRound {
  uint64_t num_steps = 0;
  uint64_t num_messages = 0;         // that are taken in this round
  std::vector<Doing> doings;         // what its steps do, each once
  std::vector<LevelChange> changes;  // by field
  std::vector<RowTraffic> traffic;   // by row
  std::vector<RowRight> right;       // rows whose number of right outputs changed
};

struct Overview : Course {
  std::vector<uint32_t> row_begin;     // first rank of each row, and the number of ranks
  std::vector<uint64_t> column_begin;  // the same of chunks, or of an all_to_all's positions
  std::vector<uint8_t> start;          // by field
  std::vector<uint64_t> num_results;   // by row: chunks of output
  std::vector<uint64_t> right_at_start;
  std::vector<OverviewRound> rounds;
  // Fields with outputs that are not right at the end, in order. None of a run that stopped before
  // its end: there, what is missing is not wrong for that.
  std::vector<uint32_t> wrong_fields;

  [[nodiscard]] uint32_t num_rows() const { return static_cast<uint32_t>(num_results.size()); }
  [[nodiscard]] uint32_t num_columns() const {
    return static_cast<uint32_t>(column_begin.size() - 1);
  }
};

struct OverviewOptions {
  std::optional<ir::Placement> placement = {};  // as of HistoryOptions
  uint32_t max_rows = 64;
  uint32_t max_columns = 64;
  TraitOf trait_of = {};
};

// Needs 4 bytes for each chunk of each rank and 5 for each cell. kUnsupported beyond 2^28 of these,
// kInvalidArgument for a placement that the schedule does not claim. A schedule without shape or
// matching has a refusal and no rounds.
[[nodiscard]] Result<Overview> write_overview(const ir::Schedule& schedule,
                                              const OverviewOptions& options = {});

}  // namespace tutti::verify
