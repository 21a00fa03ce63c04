// A program on the host: its tables, and what an engine needs to know of it as a whole.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "engine/program.h"
#include "engine/ways.h"
#include "ir/sizes.h"
#include "ir/step.h"
#include "tutti/collective.h"
#include "tutti/result.h"
#include "verify/verified_schedule.h"

namespace tutti::engine {

// How far this rank reads into a peer's memory.
struct Extent {
  uint64_t bytes[ir::kNumBuffers] = {};
  uint32_t num_words = 0;
};

// How many operations under way run a program. Written by whoever holds the engine's turn, hence no
// more than plain stores; read by whoever would throw the program away. Copies are not in use.
class UseCount {
 public:
  UseCount() = default;
  UseCount(const UseCount& /*other*/) {}
  UseCount& operator=(const UseCount& /*other*/) { return *this; }

  void begin() const { count_.store(count_.load(kRelaxed) + 1, kRelaxed); }
  // After the program was looked at for the last time. Pairs with the acquire in any().
  void end() const { count_.store(count_.load(kRelaxed) - 1, std::memory_order_release); }
  [[nodiscard]] bool any() const { return count_.load(std::memory_order_acquire) != 0; }

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;

  mutable std::atomic<uint32_t> count_{0};
};

struct BoundProgram {
  Collective collective;
  Rank self;
  bool may_be_in_place = true;
  bool waits_first = false;  // no lane can begin before a message has come
  std::vector<ProgramLane> lanes;
  std::vector<ProgramStep> steps;
  std::vector<ProgramDep> deps;
  std::vector<Piece> pieces;
  std::vector<Export> exports;
  std::vector<Link> ins;
  std::vector<Link> outs;
  std::vector<Rank> peers;      // whom this rank exchanges messages with, sorted
  std::vector<Extent> extents;  // by peer
  // By step, for traces: where the peer sends what the step takes; of a step that only sends, where
  // the peer takes it. Nothing that runs a program looks at it.
  std::vector<ir::StepRef> other_ends;

  uint64_t input_bytes = 0;
  uint64_t output_bytes = 0;
  uint64_t scratch_bytes = 0;
  // Which of this rank's buffers its peers read from.
  bool input_is_read = false;
  bool output_is_read = false;
  // Over all ranks, so that all decide alike: the largest buffer, the largest message, the most
  // bytes that a rank sends (what goes to several of them from its input counts once) or receives,
  // and the most messages that any link carries.
  uint64_t largest_buffer = 0;
  uint64_t largest_message = 0;
  uint64_t most_carried = 0;
  uint32_t most_messages = 0;

  UseCount uses;
  mutable Ways ways;  // of the engine that runs it

  [[nodiscard]] ProgramView view() const {
    return {lanes.data(), steps.data(), deps.data(), pieces.data(),
            static_cast<uint32_t>(lanes.size())};
  }
};

// What a program takes of memory, all its tables included.
[[nodiscard]] size_t bytes_of(const BoundProgram& program);

// Whether chunks that lie one behind the other in every buffer are one piece, or each is its own.
enum class Pieces : uint8_t { kJoined, kChunks };

// The part of `self`, for elements of `elem_bytes`.
[[nodiscard]] BoundProgram bind(const verify::VerifiedSchedule& schedule, Rank self,
                                const ir::Sizes& sizes, uint32_t elem_bytes,
                                Pieces pieces = Pieces::kJoined);

}  // namespace tutti::engine
