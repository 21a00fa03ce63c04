// What a rank says about itself for people to read: which operations are under way, which came
// before. The rank alone writes it, into its segment, about once a second while it has operations;
// all others read it at any time. A reader gets a whole board or none, and one that was cleaned:
// whatever a mad rank wrote, counts are within bounds and names are text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "engine/cpu/flight_recorder.h"
#include "engine/cpu/short_name.h"
#include "transport/memory.h"
#include "transport/record.h"

namespace tutti::comm {

// Ranks beyond are not told apart in reports.
inline constexpr uint32_t kMaxShownRanks = 256;

class RankSet {
 public:
  void add(uint32_t rank) {
    if (rank < kMaxShownRanks) words_[rank / 64] |= uint64_t{1} << (rank % 64);
  }
  [[nodiscard]] bool has(uint32_t rank) const {
    return rank < kMaxShownRanks && (words_[rank / 64] >> (rank % 64) & 1) != 0;
  }

 private:
  std::array<uint64_t, kMaxShownRanks / 64> words_{};
};

// Times are base::now_ns, which all processes of a host share; 0: not yet.
struct BoardEntry {
  uint64_t id = 0;
  uint64_t issued_ns = 0;
  uint64_t moved_ns = 0;  // when it was last seen to get on
  uint64_t heard_ns = 0;
  uint64_t ended_ns = 0;
  uint64_t behind = 0;  // the operation that its stream is in; 0: it is that one, or in no stream
  transport::Signature signature;
  uint64_t number = 0;
  RankSet members;
  engine::ShortName name;
  engine::Outcome outcome = engine::Outcome::kUnderWay;
  uint8_t is_waited = 0;  // a thread is in wait() for it
  uint8_t is_on_gpu = 0;
  // Begun by graphs or kernels, any number of times; `outcome` says whether one of those has
  // failed.
  uint8_t is_prepared = 0;
  uint8_t unused[4] = {};
};

struct Board {
  static constexpr uint32_t kMaxUnderWay = 128;
  static constexpr uint32_t kMaxRecent = 64;
  // Operations that are over and were none of the engine's: so many are known.
  static constexpr uint32_t kMaxElsewhere = 1024;
  static constexpr uint32_t kMaxPrepared = 64;

  uint64_t published_ns = 0;
  uint64_t num_issued = 0;
  uint64_t remembers_since_ns = 0;  // all that was issued since is on the board; 0: all ever
  uint32_t process = 0;
  uint32_t num_under_way = 0;  // all of them
  uint32_t num_shown = 0;      // of those, the oldest
  uint32_t num_recent = 0;
  uint32_t num_ended_ids = 0;
  uint32_t num_streams = 0;  // of a GPU, with operations under way
  // Nobody tells the host when graphs or kernels begin what was prepared. What it sees is the
  // launch of the daemon that runs that: 0 while it is away, and then nothing that they began is
  // under way; and since when it has been that one. A launch ends within milliseconds unless
  // something is.
  uint64_t here_since_ns = 0;
  uint32_t launch = 0;
  uint32_t num_prepared = 0;        // all of them
  uint32_t num_prepared_shown = 0;  // of those, the oldest
  uint32_t unused = 0;
  std::array<BoardEntry, kMaxUnderWay> under_way{};  // oldest first
  std::array<BoardEntry, kMaxRecent> recent{};       // over; newest first
  std::array<BoardEntry, kMaxPrepared> prepared{};   // oldest first
  std::array<uint64_t, engine::FlightRecorder::kRecords + kMaxElsewhere> ended_ids{};
};
static_assert(std::is_trivially_copyable_v<Board> && sizeof(Board) % sizeof(uint64_t) == 0);
static_assert(sizeof(Board) + sizeof(uint64_t) <= transport::kBoardBytes);

// One writer at a time.
void write_board(std::byte* memory, const Board& board);
// Empty when the rank has not written one yet, or keeps writing.
[[nodiscard]] std::optional<Board> read_board(const std::byte* memory);
// Brings counts within bounds and makes names text, as read_board does.
void clean(Board& board);

}  // namespace tutti::comm
