// The overview of every algorithm against its history, which is written down another way: the same
// rounds and messages, and fields that are as full as the cells that they sum up.
#include "verify/overview.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "ir/layout.h"
#include "ir/schedule.h"
#include "plan/algorithm.h"
#include "verify/history.h"

namespace tutti {
namespace {

constexpr uint32_t kRows = 3;
constexpr uint32_t kColumns = 4;

// What an overview should say, reckoned from the cells of a history.
class SumOfCells {
 public:
  SumOfCells(const ir::Schedule& schedule, const verify::History& history,
             const verify::Overview& overview)
      : schedule_(schedule), history_(history), overview_(overview) {
    for (const verify::CellWrite& wanted : history.wanted) wanted_[wanted.cell] = wanted.value;
    write(history.start);
  }

  void write(const std::vector<verify::CellWrite>& writes) {
    for (const verify::CellWrite& write : writes) {
      cells_[write.cell] = write.value;
      note(write);
    }
  }

  [[nodiscard]] std::vector<uint8_t> levels() const {
    const uint32_t columns = overview_.num_columns();
    std::vector<uint64_t> sums(size_t{overview_.num_rows()} * columns);
    for (const auto& [place, amount] : best_) {
      sums[row_of(place.first) * columns + column_of(place.second)] += amount;
    }
    std::vector<uint8_t> levels;
    for (size_t field = 0; field < sums.size(); ++field) {
      const size_t row = field / columns;
      const size_t column = field % columns;
      const uint64_t whole = uint64_t{overview_.row_begin[row + 1] - overview_.row_begin[row]} *
                             (overview_.column_begin[column + 1] - overview_.column_begin[column]) *
                             most();
      levels.push_back(level(sums[field], whole));
    }
    return levels;
  }

  [[nodiscard]] std::vector<uint64_t> right() const {
    std::vector<uint64_t> right(overview_.num_rows());
    for (const auto& [cell, value] : wanted_) {
      const auto now = cells_.find(cell);
      if (now != cells_.end() && now->second == value) ++right[row_of(rank_of(cell))];
    }
    return right;
  }

 private:
  [[nodiscard]] bool is_barrier() const {
    return schedule_.collective.kind == CollectiveKind::kBarrier;
  }
  [[nodiscard]] uint64_t most() const {
    return is_reducing(schedule_.collective.kind) || is_barrier() ? schedule_.collective.num_ranks
                                                                  : 1;
  }
  [[nodiscard]] uint8_t level(uint64_t sum, uint64_t whole) const {
    if (sum == 0 || sum == whole) return sum == 0 ? 0 : 255;
    const double part = static_cast<double>(sum) / static_cast<double>(whole);
    const auto all = static_cast<double>(most());
    const double height = most() == 1 ? part : std::log1p(part * all) / std::log1p(all);
    return static_cast<uint8_t>(1 + 253 * height);
  }
  [[nodiscard]] uint32_t rank_of(uint64_t cell) const {
    if (is_barrier()) return static_cast<uint32_t>(cell - *history_.first_heard);
    uint32_t rank = 0;
    while (cell >= history_.memory[rank].end) ++rank;
    return rank;
  }
  [[nodiscard]] size_t row_of(uint32_t rank) const {
    size_t row = 0;
    while (rank >= overview_.row_begin[row + 1]) ++row;
    return row;
  }
  [[nodiscard]] size_t column_of(uint64_t index) const {
    size_t column = 0;
    while (index >= overview_.column_begin[column + 1]) ++column;
    return column;
  }
  void note(const verify::CellWrite& write) {
    const uint32_t rank = rank_of(write.cell);
    uint64_t index = write.value.chunk.value;
    if (schedule_.collective.kind == CollectiveKind::kAllToAll) {
      const auto wanted = wanted_.find(write.cell);
      if (wanted == wanted_.end() || wanted->second.chunk != write.value.chunk) return;
      index = write.cell - history_.memory[rank].begin[static_cast<size_t>(ir::Buffer::kOutput)];
    }
    uint64_t amount = 0;
    for (const auto& range : history_.sets[write.value.set]) amount += range.end - range.begin;
    uint64_t& best = best_[{rank, index}];
    best = std::max(best, most() == 1 ? 1 : amount);
  }

  const ir::Schedule& schedule_;
  const verify::History& history_;
  const verify::Overview& overview_;
  std::map<uint64_t, verify::Held> wanted_;
  std::map<uint64_t, verify::Held> cells_;
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> best_;  // by rank and chunk or position
};

void expect_same(const ir::Schedule& schedule, const verify::History& history,
                 const verify::Overview& overview) {
  ASSERT_EQ(overview.rounds.size(), history.rounds.size());
  SumOfCells sum(schedule, history, overview);
  std::vector<uint8_t> levels = overview.start;
  std::vector<uint64_t> right = overview.right_at_start;
  EXPECT_EQ(levels, sum.levels());
  EXPECT_EQ(right, sum.right());
  for (size_t i = 0; i < history.rounds.size(); ++i) {
    const verify::OverviewRound& round = overview.rounds[i];
    sum.write(history.rounds[i].writes);
    for (const verify::LevelChange& change : round.changes) levels[change.field] = change.level;
    for (const verify::RowRight& row : round.right) right[row.row] = row.num_right;
    EXPECT_EQ(levels, sum.levels()) << "round " << i;
    EXPECT_EQ(right, sum.right()) << "round " << i;
    EXPECT_EQ(round.num_steps, history.rounds[i].steps.size());
    EXPECT_EQ(round.num_messages, history.rounds[i].arrived.size());
    uint64_t between_rows = 0;
    for (const verify::RowTraffic& traffic : round.traffic) between_rows += traffic.num_messages;
    EXPECT_EQ(between_rows, round.num_messages);
  }
  EXPECT_EQ(right, overview.num_results);
}

TEST(OverviewOfEveryAlgorithm, IsTheSumOfItsHistory) {
  for (const plan::Algorithm& algorithm : plan::algorithms()) {
    for (uint32_t p : {1u, 2u, 5u, 8u, 13u}) {
      const uint32_t peer = algorithm.kind == CollectiveKind::kSendRecv ? p - 1 : 0;
      const ir::Schedule schedule =
          plan::make({algorithm.kind, p, 0, peer}, algorithm.name, {}).value();
      for (ir::Placement placement : verify::placements_to_prove(schedule)) {
        SCOPED_TRACE(fmt::format("{} {} of {} ranks, {}", to_string(algorithm.kind), algorithm.name,
                                 p, ir::to_string(placement)));
        verify::HistoryOptions fine;
        fine.placement = placement;
        verify::OverviewOptions coarse{placement, kRows, kColumns};
        const verify::Overview overview = verify::write_overview(schedule, coarse).value();
        ASSERT_FALSE(overview.refusal) << overview.refusal->message;
        expect_same(schedule, verify::write_history(schedule, fine).value(), overview);
      }
    }
  }
}

}  // namespace
}  // namespace tutti
