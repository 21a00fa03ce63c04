// Runs the operations of one rank: whoever calls moves all of them. Operations may be issued in
// any order on each rank; one that waits is set aside and costs nothing until its peers are there.
//
// Why it cannot deadlock. Nothing is held while waiting: a packet needs room in a ring, and rings
// are emptied whether their records are wanted or not (into a table, bounded by what peers have
// issued); messages of the other kind stay in the sender's memory until the receiver reads them.
// Memory of an operation is its own rank's, taken when it is issued. So take the operations that
// all members have issued: each is a proved schedule, which moves under lending whatever else is
// under way; every one of them completes, in whatever order they were issued.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cpu/flight_recorder.h"
#include "engine/cpu/hello.h"
#include "engine/cpu/id_table.h"
#include "engine/cpu/operation.h"
#include "engine/cpu/recent_ids.h"
#include "engine/cpu/step_trace.h"
#include "engine/task_queue.h"
#include "transport/endpoint.h"
#include "tutti/result.h"

namespace tutti::engine {

// Where peers could read it where it lies, an input up to this size is mirrored all the same
// (between processes an output too), so that the caller need not wait for its readers.
inline constexpr uint64_t kStageBytes = uint64_t{64} * 1024;
// Messages of this size or more take the way that was found to be the fastest (engine/ways.h).
// Smaller ones are mirrored: a system call for each costs more than could be gained.
inline constexpr uint64_t kLeastLearned = uint64_t{64} * 1024;
// Until that is known: calls with buffers of this size leave nothing in the caches for their peers,
// so what is shared is written past them.
inline constexpr uint64_t kStreamBytes = uint64_t{4} << 20;
// Two ranks that swap inputs of this size or more pull them, until that is known: each reads the
// other's once and has to wait for it in any case, and lines of a mirror would move between their
// caches twice.
inline constexpr uint64_t kLeastSwapped = uint64_t{32} * 1024;
// Of shared memory that a rank's operations take together, so far as they have a choice.
inline constexpr uint64_t kMirrorBytes = uint64_t{512} << 20;

// A caller need not wait for its readers, but runs ahead of them no further than this: what is
// reused soon is still in the caches.
inline constexpr uint64_t kAheadBytes = uint64_t{1} << 20;
// Who has not read for so long what others have read has lost its core. So that it does not hold up
// the others, the caller then runs ahead this far, until all have caught up.
inline constexpr uint64_t kReaderPatienceNs = 100'000;
inline constexpr uint64_t kFarAheadBytes = uint64_t{16} << 20;

// What an engine keeps on behalf of others, so that no peer can make it grow without limit.
//
// Records for operations that this rank has not issued, of each peer: 130 MiB. A peer that has more
// than half as many operations under way that this rank has not issued is taken for mad, and lost.
inline constexpr uint32_t kMostEarlyRecords = uint32_t{1} << 18;
// Operations that failed here, whose late records are thrown away: 2.5 MiB.
inline constexpr size_t kMostFailedIds = size_t{1} << 16;
// Operations that failed elsewhere and were not issued here. The oldest is forgotten: if it is ever
// issued here, it ends at its deadline and not at once.
inline constexpr size_t kMostFailedElsewhere = size_t{1} << 12;
// Communicators that one peer has aborted. A peer that has aborted more is taken for mad.
inline constexpr size_t kMostAborts = size_t{1} << 12;
// Failures and aborts that peers could not be told for want of room in their rings. A peer that
// does not hear of a failure finds it out at its own deadline.
inline constexpr size_t kMostUntold = size_t{1} << 14;

// What an engine has made so far; it is used again and never given back.
struct EngineStock {
  size_t operations = 0;
  size_t early_records = 0;       // made
  size_t early_records_held = 0;  // for operations that were not issued yet
};

struct EngineCounts {
  uint64_t completed = 0;
  uint64_t switches = 0;       // from an operation that moved and is not over to another one
  uint64_t most_switches = 0;  // of one operation
  uint64_t looks = 0;          // turns in which nothing moved
  uint64_t early_records = 0;  // for operations not issued here yet
};

class Engine {
 public:
  // `mirror_bytes` as kMirrorBytes.
  explicit Engine(transport::Endpoint endpoint, uint64_t mirror_bytes = kMirrorBytes);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Starts an operation and runs it as far as it goes. Any thread. kOutOfMemory when this rank's
  // segment is spent; kInvalidArgument when the id is under way already.
  [[nodiscard]] Result<Operation*> submit(const Request& request);
  // The same, but null where it is over already: a small call whose peers are there. It looks for
  // them so many times before it becomes an operation.
  [[nodiscard]] Result<Operation*> call(const Request& request, uint32_t looks);
  // Takes in what peers have said, and runs operations that can go on: a few turns of them, and
  // none after one that ends an operation. Any thread. Whether anything moved; if not, every
  // operation has been looked at. The caller may wait for one of them, which is then favoured.
  bool progress(Operation* wanted = nullptr);
  // The caller has seen the state of a finished operation, or does not want to.
  static void release(Operation* op) {
    // Pairs with the acquire in new_operation.
    op->is_released.store(true, std::memory_order_release);
  }
  // Ends an operation here and on its peers: kDeadline, or kAborted.
  void give_up(Operation* op, ErrorCode code);
  // Ends all operations of a communicator (Request::group) with kAborted, now and later, here and
  // on its members. Waits for nobody: who cannot be told now is told when there is room.
  void abort(uint64_t group, std::span<const Rank> members);
  // Which of its members has aborted the communicator, as far as this rank has heard; kNoRank:
  // none.
  [[nodiscard]] Rank aborter_of(uint64_t group, std::span<const Rank> members);
  // A rank is gone: what needs it fails, now and later. `why` is for people, and not empty.
  void lose(Rank rank, std::string why);

  [[nodiscard]] transport::Endpoint& endpoint() { return endpoint_; }
  [[nodiscard]] EngineCounts counts() const;
  [[nodiscard]] size_t num_under_way() const { return operations_.size(); }
  [[nodiscard]] EngineStock stock() const {
    return {all_.size(), all_records_.size(), all_records_.size() - spare_records_.size()};
  }

  // For whoever watches; any thread. How often progress was called, and whether it need not be.
  [[nodiscard]] uint64_t turns() const { return turns_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool is_idle();
  // Shows what is under way and what was. Nothing moves meanwhile: be quick.
  using Look =
      std::function<void(const IdTable<Operation>& under_way, const FlightRecorder& recorder)>;
  void inspect(const Look& look);
  // From now on steps are traced, and more operations are remembered. Before any is issued.
  void start_trace();
  [[nodiscard]] const StepTrace* step_trace() const { return step_trace_.get(); }

 private:
  // A record as it was taken out of a ring: the header copied, the payload where it lies.
  struct Word {
    transport::RecordKind kind;
    transport::RecordHeader header;
    const std::byte* payload;
  };
  struct EarlyRecord {
    Rank from;
    transport::RecordKind kind;
    transport::RecordHeader header;
    std::array<std::byte, transport::kMaxPayload> narrow;
    std::unique_ptr<std::byte[]> wide;  // null: it is narrow
    EarlyRecord* next;

    [[nodiscard]] std::byte* payload() { return wide != nullptr ? wide.get() : narrow.data(); }
    // In records.
    [[nodiscard]] uint32_t weight() const {
      return wide == nullptr ? 1 : static_cast<uint32_t>(transport::kMostWeight);
    }
  };
  struct Early {
    EarlyRecord* first = nullptr;
    EarlyRecord* last = nullptr;
  };
  // What a peer has made this rank keep, and why nothing more is taken from it.
  struct Load {
    uint32_t early_records = 0;
    size_t aborts = 0;
    std::string madness;  // empty: it is trusted
  };
  // The records at the front of a peer's ring that were looked at and left there, as nothing is
  // known of their operations; that changes when one is enlisted.
  struct Left {
    uint64_t num_enlisted = 0;
    uint64_t end = 0;       // RingReader::position() behind them
    uint64_t num_wide = 0;  // RingReader::num_wide() behind them
  };
  struct Abort {
    uint64_t group;
    Rank by;
  };
  // What members must hear, at the latest when their ring has room.
  struct Notice {
    transport::RecordKind kind;
    transport::RecordHeader header;
    Failure failure = {};  // if the header says that there is a payload
    Rank to = kNoRank;
  };
  Result<Operation*> begin(const Request& request);
  void note(Operation& op);
  void enlist(Operation& op);
  [[nodiscard]] bool may_go_straight(const Request& request) const;
  bool go_straight(Operation& op, uint32_t looks);
  Status prepare(Operation& op);
  Status prepare_memory(Operation& op);
  [[nodiscard]] Ways::Turn way_of(const Operation& op) const;
  Status prepare_mirrors(Operation& op);
  Status prepare_mirror(Operation& op, ir::Buffer buffer, uint64_t bytes);
  void mirror_whole_input(Operation& op);
  void prepare_packets(Operation& op);
  void scale_input(Operation& op);
  void greet(Operation& op);
  bool take_early(Operation& op);  // whether there was anything

  enum class Drain : uint8_t { kWanted, kAll };
  void drain(Drain what);
  [[nodiscard]] bool is_wanted(transport::RecordKind kind, uint64_t operation) const;
  [[nodiscard]] uint32_t num_to_take(const transport::RingReader& ring, Left& left) const;
  void take_next(Operation& op);
  void receive(Rank from, const Word& word);
  void keep(Rank from, const Word& word);
  void spare(Early* early);
  void forget_early(uint64_t id);
  void lose_rank(Rank rank, std::string why);
  void deliver(Operation& op, Rank from, const Word& word);
  void deliver_packet(Operation& op, Rank from, const Word& word);
  void deliver_hello(Operation& op, Rank from, const Word& word);
  void count_greeting(Operation& op, uint32_t stamp);
  void fail_everywhere(Operation& op, const Failure& failure);
  void refuse(Operation& op, Rank from, std::string_view what);
  void end_group(uint64_t group, Rank by);
  void tell(std::span<const Rank> members, Notice notice);
  [[nodiscard]] bool tell_one(const Notice& notice);
  void tell_rest();
  void tell_failure(const Operation& op, std::span<const Rank> members, const Failure& failure);
  [[nodiscard]] const Abort* find_abort(uint64_t group, std::span<const Rank> members) const;

  // What an operation needs next.
  enum class Need : uint8_t {
    kTurn,     // another turn: it can go on, or looks at memory that a peer will write
    kRecord,   // nothing until a record comes for it
    kReaders,  // nothing but that peers have read its memory; its caller is content
    kNothing   // it is over
  };
  Need run(Operation& op);
  Need go_on(Operation& op);
  Need fail_unread(Operation& op);
  template <class Port>
  Need run_lanes(Operation& op);
  template <class Port>
  Need finish_up(Operation& op);
  bool may_run_ahead(Operation& op, size_t num_left);
  void complete(Operation& op);
  void look_after_read();
  void end_lent(const Operation& op, uint64_t ticks);
  void retire(Operation& op);
  void free_memory(Operation& op);
  void fail_here(Operation& op, Error error);
  void go_on_without(Operation& op, Rank lost);
  static void forget_reader(Operation& op, Rank reader);
  bool take_turn();
  static void forget_readers(Operation& op);
  void set_aside(Operation& op, Need need);
  Operation* new_operation();
  EarlyRecord* new_early_record();
  Early* new_early();

  transport::Endpoint endpoint_;
  uint64_t mirror_bytes_;
  std::atomic<bool> busy_{false};
  std::atomic<uint64_t> turns_{0};               // written by who holds the turn
  std::vector<std::unique_ptr<Operation>> all_;  // owns; most of them are spare
  std::deque<Operation*> retired_;  // to be used again once their callers have released them
  IdTable<Operation> operations_;   // issued and not retired
  TaskQueue queue_;                 // those that want turns
  StampClock stamps_;
  std::deque<Operation*> read_;  // those that peers still read
  bool moved_ = false;           // something was achieved since it was last set
  IdTable<Early> early_;
  std::vector<std::unique_ptr<EarlyRecord>> all_records_;
  std::vector<EarlyRecord*> spare_records_;
  std::vector<std::unique_ptr<Early>> all_early_;
  std::vector<Early*> spare_early_;
  RecentIds failed_{kMostFailedIds};
  RecentIds failed_elsewhere_{kMostFailedElsewhere};
  std::vector<Load> loads_;  // by rank
  std::vector<Left> left_;   // by rank
  uint64_t num_enlisted_ = 0;
  uint64_t num_lent_ = 0;          // of those, with memory for messages
  uint32_t num_lent_running_ = 0;  // of those, not over
  std::vector<Abort> aborts_;      // of communicators that are over
  std::vector<Notice> untold_;     // for want of room
  std::vector<std::string> lost_;  // by rank: why it is gone; empty: it is not
  bool has_cores_;                 // for every rank one
  bool any_lost_ = false;
  bool is_reader_away_ = false;  // and the caller need not wait for it
  EngineCounts counts_;
  FlightRecorder recorder_;
  std::unique_ptr<StepTrace> step_trace_;  // null: off
};

}  // namespace tutti::engine
