#include "comm/diagnosis/findings.h"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tutti/collective.h"

namespace tutti::comm {
namespace {

// Boards are written about once a second while there are operations.
constexpr uint64_t kSilentNs = 5'000'000'000;

// Ranks that call the same operation at all do so within this time, or a report must be unsure.
constexpr uint64_t kApartNs = 10'000'000'000;

// Whether a member can be done with it before all have called it, so that its board may have
// forgotten it.
bool may_end_early(const transport::Signature& signature) {
  if (signature.collective >= kNumCollectiveKinds) return true;
  return is_rooted(static_cast<CollectiveKind>(signature.collective));
}

class Finder {
 public:
  explicit Finder(Findings& findings) : findings_(findings), ended_(findings.boards.size()) {
    for (size_t r = 0; r < ended_.size(); ++r) {
      const auto& board = findings.boards[r];
      if (!board) continue;
      ended_[r].insert(board->ended_ids.begin(), board->ended_ids.begin() + board->num_ended_ids);
    }
  }

  void find_operations() {
    for (uint32_t rank = 0; rank < findings_.boards.size(); ++rank) {
      const auto& board = findings_.boards[rank];
      for (uint32_t i = 0; board && i < board->num_shown; ++i) enter(rank, board->under_way[i]);
    }
    for (OperationFinding& operation : findings_.operations) place_others(operation);
    const auto stands_longer = [](const OperationFinding& a, const OperationFinding& b) {
      return std::pair(a.moved_ns, a.facts.id) < std::pair(b.moved_ns, b.facts.id);
    };
    std::sort(findings_.operations.begin(), findings_.operations.end(), stands_longer);
  }

 private:
  void enter(uint32_t rank, const BoardEntry& entry) {
    const auto [at, is_new] = index_.try_emplace(entry.id, findings_.operations.size());
    if (is_new) {
      OperationFinding& made = findings_.operations.emplace_back();
      made.facts = entry;
      made.issued_ns = entry.issued_ns;
      made.moved_ns = entry.moved_ns;
    }
    OperationFinding& operation = findings_.operations[at->second];
    (entry.behind == 0 ? operation.inside : operation.queued).push_back(rank);
    operation.issued_ns = std::min(operation.issued_ns, entry.issued_ns);
    operation.moved_ns = std::max(operation.moved_ns, entry.moved_ns);
  }

  void place_others(OperationFinding& operation) const {
    for (uint32_t rank = 0; rank < findings_.boards.size(); ++rank) {
      if (!operation.facts.members.has(rank)) continue;
      const auto has_it = [rank](const std::vector<uint32_t>& ranks) {
        return std::binary_search(ranks.begin(), ranks.end(), rank);
      };
      if (has_it(operation.inside) || has_it(operation.queued)) continue;
      place_of(rank, operation).push_back(rank);
    }
  }

  std::vector<uint32_t>& place_of(uint32_t rank, OperationFinding& operation) const {
    const auto& board = findings_.boards[rank];
    if (!board) return operation.unsure;
    if (ended_[rank].contains(operation.facts.id)) return operation.finished;
    const bool shows_all = board->num_under_way == board->num_shown;
    const bool remembers_it = board->remembers_since_ns == 0 ||
                              board->remembers_since_ns + kApartNs <= operation.issued_ns;
    const bool would_show =
        shows_all && (remembers_it || !may_end_early(operation.facts.signature));
    return would_show ? operation.absent : operation.unsure;
  }

  Findings& findings_;
  std::vector<std::unordered_set<uint64_t>> ended_;  // by rank
  std::unordered_map<uint64_t, size_t> index_;       // into the operations, by id
};

// A daemon goes within some 50 ms unless operations are under way; boards come once a second.
constexpr uint64_t kSurelyUnderWayNs = 500'000'000;

void find_prepared(Findings& findings) {
  std::unordered_map<uint64_t, size_t> index;
  for (uint32_t rank = 0; rank < findings.boards.size(); ++rank) {
    const auto& board = findings.boards[rank];
    for (uint32_t i = 0; board && i < board->num_prepared_shown; ++i) {
      const BoardEntry& entry = board->prepared[i];
      const auto [at, is_new] = index.try_emplace(entry.id, findings.prepared.size());
      if (is_new) findings.prepared.push_back({entry, {}, {}, {}, {}});
      PreparedFinding& prepared = findings.prepared[at->second];
      prepared.inside.push_back(rank);
      if (entry.outcome == engine::Outcome::kFailed) prepared.failed.push_back(rank);
    }
  }
  for (PreparedFinding& prepared : findings.prepared) {
    for (uint32_t rank = 0; rank < findings.boards.size(); ++rank) {
      if (!prepared.facts.members.has(rank)) continue;
      if (std::binary_search(prepared.inside.begin(), prepared.inside.end(), rank)) continue;
      const auto& board = findings.boards[rank];
      const bool shows_all = board && board->num_prepared == board->num_prepared_shown;
      (shows_all ? prepared.absent : prepared.unsure).push_back(rank);
    }
  }
}

void find_begun(Findings& findings) {
  Begun& begun = findings.begun;
  for (uint32_t rank = 0; rank < findings.boards.size(); ++rank) {
    const auto& board = findings.boards[rank];
    if (!board || board->num_prepared == 0) continue;
    if (board->launch == 0) {
      begun.at_rest.push_back(rank);
    } else if (is_begun_under_way(*board)) {
      begun.under_way.push_back(rank);
      begun.since_ns = std::max(begun.since_ns, board->here_since_ns);
    } else {
      begun.unsure.push_back(rank);
    }
  }
}

// Ranks that are threads of one process share its connections.
void find_crowds(Findings& findings) {
  std::vector<Crowd>& crowds = findings.crowds;
  for (uint32_t rank = 0; rank < findings.boards.size(); ++rank) {
    const auto& board = findings.boards[rank];
    if (!board || board->num_streams == 0) continue;
    const auto is_same = [&](const Crowd& crowd) { return crowd.process == board->process; };
    auto at = std::find_if(crowds.begin(), crowds.end(), is_same);
    if (at == crowds.end()) at = crowds.insert(at, {board->process, 0, {}});
    at->num_streams += board->num_streams;
    at->ranks.push_back(rank);
  }
  std::erase_if(crowds, [](const Crowd& crowd) { return crowd.num_streams < kCrowd; });
}

bool waits_in(const Board& board, uint64_t id) {
  const auto* const end = board.under_way.begin() + board.num_shown;
  return std::any_of(board.under_way.begin(), end, [id](const BoardEntry& entry) {
    return entry.id == id && entry.is_waited != 0;
  });
}

std::vector<std::vector<WaitLink>> links_by_rank(const Findings& findings) {
  std::vector<std::vector<WaitLink>> links(findings.boards.size());
  for (size_t i = 0; i < findings.operations.size(); ++i) {
    const OperationFinding& operation = findings.operations[i];
    for (const uint32_t rank : operation.inside) {
      if (!waits_in(*findings.boards[rank], operation.facts.id)) continue;
      for (const uint32_t other : operation.absent) links[rank].push_back({rank, other, i});
    }
  }
  return links;
}

// An operation is over when it is over on all its ranks, so it waits for whatever their streams are
// in.
std::vector<std::vector<StreamLink>> links_by_operation(const Findings& findings) {
  std::unordered_map<uint64_t, size_t> index;
  for (size_t i = 0; i < findings.operations.size(); ++i) {
    index[findings.operations[i].facts.id] = i;
  }
  std::vector<std::vector<StreamLink>> links(findings.operations.size());
  for (uint32_t rank = 0; rank < findings.boards.size(); ++rank) {
    const auto& board = findings.boards[rank];
    for (uint32_t i = 0; board && i < board->num_shown; ++i) {
      const BoardEntry& entry = board->under_way[i];
      const auto behind = index.find(entry.behind);
      if (entry.behind == 0 || behind == index.end()) continue;
      const size_t operation = index.at(entry.id);
      links[operation].push_back({operation, rank, behind->second});
    }
  }
  return links;
}

size_t start_of(const WaitLink& link) { return link.rank; }
size_t end_of(const WaitLink& link) { return link.other; }
size_t start_of(const StreamLink& link) { return link.operation; }
size_t end_of(const StreamLink& link) { return link.behind; }

// The shortest way from a place back to itself: breadth first. `links` are by their start.
template <class Link>
std::vector<Link> ring_through(size_t start, const std::vector<std::vector<Link>>& links) {
  std::vector<std::optional<Link>> reached_by(links.size());
  std::deque<size_t> next{start};
  while (!next.empty() && !reached_by[start]) {
    const size_t at = next.front();
    next.pop_front();
    for (const Link& link : links[at]) {
      if (reached_by[end_of(link)]) continue;
      reached_by[end_of(link)] = link;
      next.push_back(end_of(link));
    }
  }
  std::vector<Link> ring;
  if (!reached_by[start]) return ring;
  size_t at = start;
  do {
    ring.push_back(*reached_by[at]);
    at = start_of(ring.back());
  } while (at != start);
  std::reverse(ring.begin(), ring.end());
  return ring;
}

template <class Link>
std::vector<Link> shortest_ring(const std::vector<std::vector<Link>>& links) {
  std::vector<Link> best;
  for (size_t start = 0; start < links.size(); ++start) {
    std::vector<Link> ring = ring_through(start, links);
    if (!ring.empty() && (best.empty() || ring.size() < best.size())) best = std::move(ring);
  }
  return best;
}

}  // namespace

// While streams are in operations the daemon stays for those.
bool is_begun_under_way(const Board& board) {
  return board.launch != 0 && board.num_streams == 0 &&
         board.here_since_ns + kSurelyUnderWayNs <= board.published_ns;
}

Findings find(std::vector<std::optional<Board>> boards, uint64_t now_ns) {
  Findings findings;
  findings.now_ns = now_ns;
  findings.boards = std::move(boards);
  Finder(findings).find_operations();
  find_prepared(findings);
  find_begun(findings);
  find_crowds(findings);
  findings.ring = shortest_ring(links_by_rank(findings));
  findings.stream_ring = shortest_ring(links_by_operation(findings));
  for (uint32_t rank = 0; rank < findings.boards.size(); ++rank) {
    const auto& board = findings.boards[rank];
    if (board && board->num_under_way != 0 && board->published_ns + kSilentNs < now_ns) {
      findings.silent.push_back(rank);
    }
  }
  return findings;
}

}  // namespace tutti::comm
