// What hosts tell daemons, and daemons each other. Records are rows of units, each of which carries
// its stamp (memory_order.h), so they are read as soon as they are there, by whoever expects them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "engine/cuda/memory_order.h"
#include "ir/step.h"
#include "transport/record.h"

namespace tutti::engine::cuda {

struct Context;
struct DeviceProgram;
struct EarlyNode;
struct Prepared;

// Input that travels with the word that an operation was issued.
inline constexpr uint32_t kInlineBytes = 112;
inline constexpr uint16_t kNotInline = 0xffff;
inline constexpr uint32_t kWordsAddress = ir::kNumBuffers;
inline constexpr uint32_t kNumAddresses = ir::kNumBuffers + 1;

enum class Outcome : uint32_t {
  kUnderWay,
  kDone,
  kMismatch,
  kDeadline,
  kAborted,
  kUnreachable,  // memory of a member cannot be mapped here
  kDeviceLost,   // by the host: nothing runs any more
};

// What an operation waited for when its time was over.
enum class Missing : uint32_t {
  kCall,     // the member has not issued it
  kMessage,  // from the member
  kReceipt,  // the member was to take a message
};
// Where this rank's program stood. Behind the last step of a lane, it was done but for receipts.
struct Stall {
  uint32_t missing;
  uint32_t member;
  uint32_t lane;
  uint32_t step;
  uint32_t expected;  // messages that were to be sent, or taken
  uint32_t seen;
};

// In memory of the host: how an operation ended. `outcome` is written last, and holds above it how
// often the operation was set aside while another one moved.
inline constexpr uint32_t kSwitchShift = 8;
inline constexpr uint32_t kMostSwitches = (1U << 24) - 1;
struct Completion {
  uint32_t outcome;
  // Mismatch: whose signature differs; deadline: whom it waits for; unreachable: whose memory.
  uint32_t member;
  transport::Signature signature;  // of that member
  Stall stall;                     // deadline
};
static_assert(sizeof(Completion) == 48 && std::is_trivially_copyable_v<Completion>);

// An address as ranks tell it each other. Ranks of one process say the address itself; others say
// which region of the sender's memory it is in, from 1 on, and where: see reach.h.
inline constexpr uint32_t kRegionShift = 48;
inline constexpr uint64_t kRegionMask = (uint64_t{1} << kRegionShift) - 1;
[[nodiscard]] TUTTI_BOTH inline uint32_t region_of(uint64_t address) {
  return static_cast<uint32_t>(address >> kRegionShift);
}

// What a stream and a daemon tell each other, in memory of the device. Both words only grow, and
// wrap around: an operation begins when the stream has come to its number, and the stream goes on
// when as many operations are over.
struct StreamWords {
  uint32_t armed;  // by the stream: the number that it has come to
  uint32_t gate;   // by the daemon: how many are over
  // The leader's: operations that the stream has not come to, first and last, the number of the
  // first, and the next stream that has such.
  Context* first;
  Context* last;
  StreamWords* next;
  uint32_t first_value;
  uint32_t unused;
};

// Host to daemon: an operation that was issued.
struct Submission {
  uint64_t operation;  // its number, equal on all ranks
  transport::Signature signature;
  const DeviceProgram* program;
  Context* context;
  std::byte* input;
  std::byte* output;
  StreamWords* stream;  // null: at once
  Completion* completion;
  double factor;
  uint64_t budget_ns;     // until it fails
  uint32_t stream_value;  // what its stream says when it has come to it
  uint32_t group;         // with which it is aborted
  // Where the context, the input and the output are, for other ranks.
  uint64_t context_there;
  uint64_t input_there;
  uint64_t output_there;
  uint32_t program_number;  // unlike that of any program that was at the same place before
  // Of what was prepared (triggers.h):
  uint32_t num_triggers;  // before this one
  Prepared* prepared;     // null: it was submitted
  uint32_t is_broken;     // it has failed for good
  uint32_t unused;
};

// Daemon to daemon: the sender has issued the operation, and its input or where its memory is.
struct Hello {
  uint32_t num_units;
  uint32_t stamp;  // engine/task_queue.h
  uint64_t operation;
  transport::Signature signature;
  uint64_t node;  // an EarlyNode where the receiver keeps this, if it has not issued it yet
  double factor;
  uint32_t words_stride;  // between parts
  uint8_t member;         // which one the sender is
  uint8_t is_quick;       // it may be over at once (at_once.h)
  uint16_t inline_bytes;  // kNotInline: addresses
  union {
    uint64_t addresses[kNumAddresses];  // of the sender's buffers, then of its words
    std::byte input[kInlineBytes];      // of small operations
  };
};

// Memory of the sender, used by the receiver: what is kept of early word costs the receiver
// nothing.
struct EarlyNode {
  Hello hello;
  EarlyNode* next;
  uint32_t from;  // rank of the group
  uint32_t unused;
};

// Records are copied word by word, for registers are few. Both are aligned to words.
TUTTI_BOTH inline void copy_words(void* to, const void* from, uint64_t bytes, uint64_t first = 0,
                                  uint64_t stride = 1) {
  TUTTI_NO_UNROLL
  for (uint64_t i = first; i < bytes / 8; i += stride) {
    static_cast<uint64_t*>(to)[i] = static_cast<const uint64_t*>(from)[i];
  }
}

// Several words at a time: from memory that is far, each look takes as long as all of them.
TUTTI_BOTH inline void fetch_submission(Submission& to, const Submission& from) {
  constexpr uint32_t kWords = sizeof(Submission) / sizeof(uint64_t);
  constexpr uint32_t kBatch = 6;
  static_assert(kWords % kBatch == 0);
  TUTTI_NO_UNROLL
  for (uint32_t i = 0; i < kWords; i += kBatch) {
    uint64_t words[kBatch];
    for (uint32_t b = 0; b < kBatch; ++b) {
      words[b] = reinterpret_cast<const uint64_t*>(&from)[i + b];
    }
    for (uint32_t b = 0; b < kBatch; ++b) reinterpret_cast<uint64_t*>(&to)[i + b] = words[b];
  }
}

// A record as units: three words of it and a stamp in each.
template <class T>
inline constexpr uint32_t kUnitsOf = (sizeof(T) + 11) / 12;
inline constexpr uint32_t kHelloUnits = kUnitsOf<Hello>;
inline constexpr uint32_t kSubmissionUnits = kUnitsOf<Submission>;
static_assert(sizeof(Hello) == 168 && kHelloUnits == 14 && std::is_trivially_copyable_v<Hello>);
static_assert(sizeof(Submission) == 144 && kSubmissionUnits == 12);
static_assert(std::is_trivially_copyable_v<Submission>);

// A letter ends where its input or its addresses do.
[[nodiscard]] TUTTI_BOTH inline uint32_t units_of_hello(bool is_inline, uint32_t inline_bytes) {
  const uint32_t tail = is_inline ? inline_bytes : static_cast<uint32_t>(sizeof(Hello::addresses));
  return (static_cast<uint32_t>(sizeof(Hello)) - kInlineBytes + tail + 11) / 12;
}

template <class T>
TUTTI_BOTH void write_units(Unit* to, const T& record, uint32_t stamp, uint32_t num_units) {
  static_assert(sizeof(T) % 12 == 0);
  const auto* words = reinterpret_cast<const uint32_t*>(&record);
  for (uint32_t i = 0; i < num_units; ++i, words += 3) {
    store_unit(to + i, {{words[0], words[1], words[2], stamp}});
  }
}

// One unit of a record. False: it is not there yet.
template <class T>
[[nodiscard]] TUTTI_BOTH bool read_unit(const Unit* from, uint32_t i, uint32_t stamp, T& record) {
  const Unit unit = load_unit(from + i);
  if (unit.words[3] != stamp) return false;
  std::memcpy(reinterpret_cast<std::byte*>(&record) + size_t{12} * i, unit.words, 12);
  return true;
}

}  // namespace tutti::engine::cuda
