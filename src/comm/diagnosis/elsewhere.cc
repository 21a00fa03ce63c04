#include "comm/diagnosis/elsewhere.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace tutti::comm {

void Elsewhere::announce(const BoardEntry& facts) {
  const std::lock_guard lock(mutex_);
  Known& known = under_way_[facts.id];
  known.facts = facts;
  known.facts.issued_ns = known.facts.moved_ns = base::now_ns();
  ++num_issued_;
}

void Elsewhere::enqueued(uint64_t id, Place place) {
  const std::lock_guard lock(mutex_);
  const auto found = under_way_.find(id);
  if (found == under_way_.end()) return;
  found->second.place = place;
  found->second.is_enqueued = true;
  ++streams_[place.stream].num_operations;
}

void Elsewhere::withdraw(uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = under_way_.find(id);
  if (found == under_way_.end() || found->second.is_enqueued) return;
  under_way_.erase(found);
  --num_issued_;
}

std::optional<BoardEntry> Elsewhere::ended(uint64_t id, engine::Outcome outcome) {
  const std::lock_guard lock(mutex_);
  const auto found = under_way_.find(id);
  if (found == under_way_.end() || !found->second.is_enqueued) return std::nullopt;
  const uint64_t now = base::now_ns();
  BoardEntry facts = found->second.facts;
  const auto stream = streams_.find(found->second.place.stream);
  stream->second.moved_ns = now;
  if (--stream->second.num_operations == 0) streams_.erase(stream);
  under_way_.erase(found);
  facts.ended_ns = now;
  facts.outcome = outcome;
  ended_.push_front(facts);
  if (ended_.size() > Board::kMaxElsewhere) {
    forgotten_ns_ = std::max(forgotten_ns_, ended_.back().issued_ns);
    ended_.pop_back();
  }
  return facts;
}

void Elsewhere::prepared(const BoardEntry& facts, std::function<Seen()> look) {
  const std::lock_guard lock(mutex_);
  Prepared& added = prepared_.emplace_back(facts, std::move(look));
  added.facts.issued_ns = added.facts.moved_ns = base::now_ns();
  added.facts.is_prepared = 1;
}

void Elsewhere::unprepared(uint64_t id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(prepared_, [id](const Prepared& one) { return one.facts.id == id; });
}

bool Elsewhere::is_idle() const {
  const std::lock_guard lock(mutex_);
  return under_way_.empty() && prepared_.empty();
}

std::unordered_map<uint64_t, const Elsewhere::Known*> Elsewhere::heads() const {
  std::unordered_map<uint64_t, const Known*> heads;
  for (const auto& [id, known] : under_way_) {
    if (!known.is_enqueued) continue;
    const Known*& head = heads[known.place.stream];
    const auto rank_of = [](const Known& one) { return std::pair(one.place.turn, one.facts.id); };
    if (head == nullptr || rank_of(known) < rank_of(*head)) head = &known;
  }
  return heads;
}

void Elsewhere::show(Board& board) const {
  const std::lock_guard lock(mutex_);
  board.num_issued += num_issued_;
  board.num_streams += static_cast<uint32_t>(streams_.size());
  show_under_way(board);
  show_ended(board);
  show_prepared(board);
}

// The oldest of both, oldest first.
void Elsewhere::show_under_way(Board& board) const {
  const auto heads = this->heads();
  std::vector<BoardEntry> all(board.under_way.begin(), board.under_way.begin() + board.num_shown);
  for (const auto& [id, known] : under_way_) {
    BoardEntry& entry = all.emplace_back(known.facts);
    if (!known.is_enqueued) continue;
    const Known& head = *heads.at(known.place.stream);
    if (head.place.turn != known.place.turn) entry.behind = head.facts.id;
    entry.moved_ns = std::max(entry.moved_ns, streams_.at(known.place.stream).moved_ns);
  }
  board.num_under_way += static_cast<uint32_t>(under_way_.size());
  board.num_shown = static_cast<uint32_t>(std::min<size_t>(all.size(), Board::kMaxUnderWay));
  const auto is_older = [](const BoardEntry& a, const BoardEntry& b) {
    return std::pair(a.issued_ns, a.id) < std::pair(b.issued_ns, b.id);
  };
  std::partial_sort_copy(all.begin(), all.end(), board.under_way.begin(),
                         board.under_way.begin() + board.num_shown, is_older);
}

// The newest of both, newest first.
void Elsewhere::show_ended(Board& board) const {
  board.remembers_since_ns = std::max(board.remembers_since_ns, forgotten_ns_);
  std::vector<BoardEntry> all(board.recent.begin(), board.recent.begin() + board.num_recent);
  all.insert(all.end(), ended_.begin(), ended_.end());
  board.num_recent = static_cast<uint32_t>(std::min<size_t>(all.size(), Board::kMaxRecent));
  const auto is_newer = [](const BoardEntry& a, const BoardEntry& b) {
    return a.ended_ns > b.ended_ns;
  };
  std::partial_sort_copy(all.begin(), all.end(), board.recent.begin(),
                         board.recent.begin() + board.num_recent, is_newer);
  for (const BoardEntry& entry : ended_) board.ended_ids[board.num_ended_ids++] = entry.id;
}

void Elsewhere::show_prepared(Board& board) const {
  board.num_prepared = static_cast<uint32_t>(prepared_.size());
  for (const Prepared& one : prepared_) {
    // All of a rank are one daemon's.
    const Seen seen = one.look();
    board.launch = std::max(board.launch, seen.launch);
    if (board.num_prepared_shown == Board::kMaxPrepared) continue;
    BoardEntry& entry = board.prepared[board.num_prepared_shown++] = one.facts;
    if (seen.has_failed) entry.outcome = engine::Outcome::kFailed;
  }
}

}  // namespace tutti::comm
