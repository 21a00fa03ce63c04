#include "comm/diagnosis/publisher.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/clock.h"

namespace tutti::comm {
namespace {

using engine::FlightRecord;
using engine::FlightRecorder;
using engine::Operation;
using engine::OperationState;
using engine::Outcome;

// Changes whenever a lane does or a message comes.
uint64_t mark_of(const Operation& op) {
  uint64_t mark = 1;
  const auto add = [&mark](uint64_t value) { mark = mark * 0x9E3779B97F4A7C15u + value; };
  for (const engine::Cursor& cursor : op.cursors) {
    add(cursor.step);
    add(cursor.piece);
    add(cursor.bytes);
  }
  for (const uint32_t count : op.in_counts) add(count);
  for (const uint64_t bytes : op.exported) add(bytes);
  return mark;
}

class Times {
 public:
  explicit Times(const FlightRecorder& recorder)
      : clock_(recorder.clock()), rate_(recorder.clock().rate()) {}
  [[nodiscard]] uint64_t ns(uint64_t ticks) const {
    return ticks == 0 ? 0 : clock_.to_ns(ticks, rate_);
  }

 private:
  const base::TickClock& clock_;
  base::TickClock::Rate rate_;
};

BoardEntry entry_of(const FlightRecord& record, const Times& times) {
  BoardEntry entry;
  entry.id = record.id;
  entry.issued_ns = times.ns(record.issued);
  entry.heard_ns = times.ns(record.heard);
  entry.ended_ns = times.ns(record.ended);
  entry.signature = record.signature;
  entry.number = record.number;
  entry.outcome = record.outcome;
  return entry;
}

// Newest first, as many as there is room for.
void show_recent(const FlightRecorder& recorder, Board& board) {
  const Times times(recorder);
  const uint64_t end = recorder.num_issued();
  const uint64_t first = std::max(recorder.first(), end - std::min(end, FlightRecorder::kRecords));
  if (first > 0) board.remembers_since_ns = times.ns(recorder.at(first).issued);
  for (uint64_t flight = end; flight > first;) {
    const FlightRecord& record = recorder.at(--flight);
    if (record.outcome == Outcome::kUnderWay) continue;
    board.ended_ids[board.num_ended_ids++] = record.id;
    if (board.num_recent == Board::kMaxRecent) continue;
    BoardEntry& entry = board.recent[board.num_recent++] = entry_of(record, times);
    if (record.is_named) entry.name = recorder.name_at(flight);
  }
  const auto is_newer = [](const BoardEntry& a, const BoardEntry& b) {
    return a.ended_ns > b.ended_ns;
  };
  std::sort(board.recent.begin(), board.recent.begin() + board.num_recent, is_newer);
}

}  // namespace

Board Publisher::publish() {
  Board board;
  board.process = static_cast<uint32_t>(getpid());
  engine_.inspect(
      [&](const engine::IdTable<Operation>& operations, const FlightRecorder& recorder) {
        show_operations(operations, recorder, board);
        show_recent(recorder, board);
        board.num_issued = recorder.num_issued();
      });
  elsewhere_.show(board);
  forget_old_movements();
  board.published_ns = base::now_ns();
  note_launch(board);
  const transport::Endpoint& endpoint = engine_.endpoint();
  write_board(endpoint.board(endpoint.self()), board);
  return board;
}

void Publisher::note_launch(Board& board) {
  if (board.launch != launch_) here_since_ns_ = board.published_ns;
  launch_ = board.launch;
  if (launch_ != 0) board.here_since_ns = here_since_ns_;
}

void Publisher::show_operations(const engine::IdTable<Operation>& operations,
                                const FlightRecorder& recorder, Board& board) {
  std::vector<const Operation*> running;
  operations.for_each([&](const Operation& op) {
    // What is done waits only for peers to take what they need; its caller has gone on.
    if (op.state.load(std::memory_order_relaxed) == OperationState::kRunning) {
      running.push_back(&op);
    }
  });
  board.num_under_way = static_cast<uint32_t>(running.size());
  board.num_shown = std::min(board.num_under_way, Board::kMaxUnderWay);
  const auto is_older = [](const Operation* a, const Operation* b) {
    return a->flight < b->flight;
  };
  std::partial_sort(running.begin(), running.begin() + board.num_shown, running.end(), is_older);
  const Times times(recorder);
  const uint64_t now = base::now_ns();
  for (uint32_t i = 0; i < board.num_shown; ++i) {
    const Operation& op = *running[i];
    // The recorder may have gone around since.
    const bool is_recorded = recorder.at(op.flight).id == op.request.id;
    BoardEntry& entry = board.under_way[i];
    if (is_recorded) entry = entry_of(recorder.at(op.flight), times);
    entry.id = op.request.id;
    entry.signature = op.request.signature;
    entry.number = op.request.number;
    entry.name = op.name;
    entry.is_waited = op.is_waited.load(std::memory_order_relaxed) ? 1 : 0;
    for (const Rank member : op.request.members) entry.members.add(member.value);
    entry.issued_ns = times.ns(op.issued);
    entry.moved_ns = moved_ns(op, entry.issued_ns, now);
  }
}

// When it was first seen standing where it stands.
uint64_t Publisher::moved_ns(const Operation& op, uint64_t issued_ns, uint64_t now_ns) {
  const uint64_t mark = mark_of(op);
  const auto [found, is_new] = movements_.try_emplace(op.request.id);
  Movement& movement = found->second;
  movement.is_current = true;
  if (is_new || movement.mark != mark) movement.since_ns = is_new ? issued_ns : now_ns;
  movement.mark = mark;
  return movement.since_ns;
}

void Publisher::forget_old_movements() {
  std::erase_if(movements_, [](const auto& one) { return !one.second.is_current; });
  for (auto& one : movements_) one.second.is_current = false;
}

}  // namespace tutti::comm
