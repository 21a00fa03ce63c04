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

// Input that travels with the word that an operation was issued.
inline constexpr uint32_t kInlineBytes = 112;

enum class Outcome : uint32_t { kUnderWay, kDone, kMismatch, kDeadline, kAborted };

// In memory of the host: how an operation ended. `outcome` is written last, and holds above it how
// often the operation was set aside while another one moved.
inline constexpr uint32_t kSwitchShift = 8;
inline constexpr uint32_t kMostSwitches = (1U << 24) - 1;
struct Completion {
  uint32_t outcome;
  uint32_t member;  // mismatch: whose signature differs; deadline: who has not issued it
  transport::Signature signature;  // of that member
};
static_assert(sizeof(Completion) == 24 && std::is_trivially_copyable_v<Completion>);

// What a stream and a daemon tell each other, in memory of the device. Both words only grow, and
// wrap around: an operation begins when the stream has come to its number, and the stream goes on
// when the operation has.
struct StreamWords {
  uint32_t armed;  // by the stream
  uint32_t gate;   // by the daemon
  // The leader's: operations that the stream has not come to, first and last, and the next stream
  // that has such.
  Context* first;
  Context* last;
  StreamWords* next;
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
  uint32_t stream_value;  // which operation of its stream it is
  uint32_t unused;
};

// Daemon to daemon: the sender has issued the operation, and its input or where its memory is.
struct Hello {
  uint32_t num_units;
  uint32_t stamp;  // engine/task_queue.h
  uint64_t operation;
  transport::Signature signature;
  EarlyNode* node;  // where the receiver keeps this, if it has not issued the operation yet
  double factor;
  uint32_t words_stride;  // between parts
  uint16_t member;        // which one the sender is
  uint16_t inline_bytes;
  union {
    struct {
      std::byte* buffers[ir::kNumBuffers];
      uint32_t* words;
    } memory;
    std::byte input[kInlineBytes];  // of small operations
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

// A record as units: three words of it and a stamp in each.
template <class T>
inline constexpr uint32_t kUnitsOf = (sizeof(T) + 11) / 12;
inline constexpr uint32_t kHelloUnits = kUnitsOf<Hello>;
inline constexpr uint32_t kSubmissionUnits = kUnitsOf<Submission>;
static_assert(sizeof(Hello) == 168 && kHelloUnits == 14 && std::is_trivially_copyable_v<Hello>);
static_assert(sizeof(Submission) == 96 && kSubmissionUnits == 8);
static_assert(std::is_trivially_copyable_v<Submission>);

// A letter ends where its input or its addresses do.
[[nodiscard]] TUTTI_BOTH inline uint32_t units_of_hello(bool is_inline, uint32_t inline_bytes) {
  const uint32_t tail = is_inline ? inline_bytes : static_cast<uint32_t>(sizeof(Hello::memory));
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
