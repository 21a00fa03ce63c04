#include "comm/diagnosis/reporter.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "comm/diagnosis/findings.h"
#include "comm/diagnosis/report.h"

namespace tutti::comm {
namespace {

constexpr uint64_t kBoardPeriodNs = 1'000'000'000;
constexpr uint64_t kShortestPeriodNs = 10'000'000;
// Of what graphs or kernels have begun nobody knows which operation it is; none has this number.
constexpr uint64_t kBegun = 0;

}  // namespace

Reporter::Reporter(engine::Engine& engine, const Elsewhere& elsewhere, uint64_t report_after_ns,
                   std::function<void(std::string_view)> write)
    : engine_(engine),
      publisher_(engine, elsewhere),
      report_after_ns_(report_after_ns),
      write_(std::move(write)) {}

uint64_t Reporter::period_ns() const {
  if (report_after_ns_ == 0) return kBoardPeriodNs;
  return std::clamp(report_after_ns_ / 4, kShortestPeriodNs, kBoardPeriodNs);
}

void Reporter::tick() {
  const Board board = publisher_.publish();
  if (report_after_ns_ == 0 || !is_report_due(board)) return;
  std::vector<std::optional<Board>> boards;
  const transport::Endpoint& endpoint = engine_.endpoint();
  for (uint32_t rank = 0; rank < endpoint.num_ranks(); ++rank) {
    boards.push_back(read_board(endpoint.board(Rank{rank})));
  }
  // Ranks look at slightly different times: what stands on one side of a ring has stood almost as
  // long on the other, and belongs into the report.
  write_(wait_report(find(std::move(boards), base::now_ns()), report_after_ns_ / 2));
}

bool Reporter::is_report_due(const Board& board) {
  const uint64_t now = board.published_ns;
  bool is_due = is_begun_under_way(board) && is_due_for(kBegun, board.here_since_ns, now);
  for (uint32_t i = 0; i < board.num_shown; ++i) {
    const BoardEntry& entry = board.under_way[i];
    // What is behind another in a stream has not come to its turn: the other is reported.
    if (entry.behind == 0) is_due = is_due_for(entry.id, entry.moved_ns, now) || is_due;
  }
  std::erase_if(schedules_, [](const auto& one) { return !one.second.is_current; });
  for (auto& one : schedules_) one.second.is_current = false;
  return is_due;
}

bool Reporter::is_due_for(uint64_t id, uint64_t moved_ns, uint64_t now) {
  if (moved_ns + report_after_ns_ > now) return false;
  const auto [at, is_new] = schedules_.try_emplace(id);
  Schedule& schedule = at->second;
  schedule.is_current = true;
  if (is_new) schedule = {now, report_after_ns_, true};
  if (now < schedule.due_ns) return false;
  schedule.due_ns = now + schedule.wait_ns;
  schedule.wait_ns *= 2;
  return true;
}

}  // namespace tutti::comm
