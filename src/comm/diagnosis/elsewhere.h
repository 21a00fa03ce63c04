// Operations of a rank that its engine does not run: those in streams of a GPU, and those that
// graphs and kernels begin there. Known here, so that boards, reports and `tutti status` show them
// like all others. Any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "comm/diagnosis/board.h"

namespace tutti::comm {

class Elsewhere {
 public:
  // Of an operation that is about to be enqueued: all but times, outcome and what it is behind.
  void announce(const BoardEntry& facts);
  // It is in a stream: operations of one turn go together, after those of the turn before.
  struct Place {
    uint64_t stream = 0;
    uint64_t turn = 0;
  };
  void enqueued(uint64_t id, Place place);
  // It could not be enqueued after all. Passed over if it was.
  void withdraw(uint64_t id);
  // What was known of it; nothing if it was not enqueued.
  std::optional<BoardEntry> ended(uint64_t id, engine::Outcome outcome);

  // What graphs or kernels may begin from now on: all but times and outcome. `look` says what the
  // host sees of it; it is called with a lock, takes none and waits for nothing.
  struct Seen {
    uint32_t launch = 0;  // as in Board
    bool has_failed = false;
  };
  void prepared(const BoardEntry& facts, std::function<Seen()> look);
  // Nobody begins it any more. `look` is not called again.
  void unprepared(uint64_t id);

  // Nothing that a board would tell news of is known here.
  [[nodiscard]] bool is_idle() const;
  // Adds to a board what is known here.
  void show(Board& board) const;

 private:
  struct Known {
    BoardEntry facts;
    Place place;
    bool is_enqueued = false;
  };
  struct Stream {
    uint64_t num_operations = 0;
    uint64_t moved_ns = 0;  // when one of them last ended
  };
  struct Prepared {
    BoardEntry facts;
    std::function<Seen()> look;
  };
  // The operation that each stream is in.
  [[nodiscard]] std::unordered_map<uint64_t, const Known*> heads() const;
  void show_under_way(Board& board) const;
  void show_ended(Board& board) const;
  void show_prepared(Board& board) const;

  mutable std::mutex mutex_;  // guards what follows; never held across a wait
  std::unordered_map<uint64_t, Known> under_way_;
  std::unordered_map<uint64_t, Stream> streams_;  // those with operations
  std::deque<BoardEntry> ended_;                  // the last ones, newest first
  std::vector<Prepared> prepared_;                // oldest first
  uint64_t num_issued_ = 0;
  uint64_t forgotten_ns_ = 0;  // when the last of those was issued that are no longer known
};

}  // namespace tutti::comm
