// One rank's part of a schedule as blocks of a GPU run it: the same program as on a CPU, and beside
// it what its steps do together. Plain records in device memory, written once.
//
// Every chunk is cut into parts, the same on all ranks: part w of it is moved by block w of
// whatever rank, and blocks of equal number talk to each other alone. So blocks need no barrier
// among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "engine/both.h"
#include "engine/program.h"

namespace tutti::engine::cuda {

// How a step is run where it is not run as written. All of these leave the same bytes in the same
// places; fusion.h says when each is right.
struct StepFusion {
  uint8_t is_deferred;  // moves nothing: the next step of the lane takes its sources along
  uint8_t is_given;     // receives what the sender has written into this rank's output
  uint8_t is_pushed;    // sends what `giver` has written into the receiver's output, and told it
  uint8_t is_implied;   // sends what can be read as soon as the operation is issued
  uint8_t is_unkept;    // writes into peers' outputs alone
  uint8_t num_pushes;   // writes into so many peers' outputs: from first_push on
  uint16_t unused;
  uint32_t giver_lane;
  uint32_t giver_step;
  uint32_t first_push;
};

struct Push {
  uint64_t at;  // in the output of the peer
  uint32_t peer;
  uint32_t out;     // the link that says so,
  uint32_t number;  // and the message on it
  uint32_t unused;
};

// Of small operations: sums.h.
struct Sum {
  uint32_t dst;  // in the output
  uint32_t bytes;
  uint32_t first_source;
  uint32_t num_sources;
};
struct SumSource {
  uint16_t member;
  uint16_t at;  // in its input
};

// Of operations of a few passes: passes.h.
struct Pass {
  uint64_t bytes;
  uint32_t first_place;  // of sources, then of destinations
  uint32_t num_sources;
  uint32_t num_dsts;
  uint32_t unused;
};
struct PassPlace {
  uint64_t at;
  uint16_t member;
  uint8_t buffer;  // of the member
  uint8_t unused[5];
};
// A word of a member is to say so much.
struct Notice {
  uint32_t member;
  uint32_t word;
  uint32_t number;
};

struct DeviceLink {
  uint32_t peer;     // index into the program's peers
  uint32_t word;     // of the peer: where this rank says what it sent (or took)
  uint32_t implied;  // in: messages that are there once the sender is
  uint32_t owed;     // out: messages to be taken before the operation is over
};
static_assert(sizeof(StepFusion) == 20 && sizeof(Push) == 24 && sizeof(DeviceLink) == 16);
static_assert(sizeof(Sum) == 16 && sizeof(SumSource) == 4);
static_assert(sizeof(Pass) == 24 && sizeof(PassPlace) == 16 && sizeof(Notice) == 12);

// Where the parts of an operation's memory lie, behind its context: in bytes.
struct Homes {
  uint32_t members;
  uint32_t parts;
  uint32_t cursors;
  uint32_t words;
  uint32_t closing;
  uint32_t nodes;
  uint32_t record;
  uint32_t scratch;
};

// What the leader writes for the workers of an operation of a few passes, in words of 8 bytes: its
// type and operator, then of each place where it is here, then its factor, then of each notice
// where its word is for the first part, and then how far apart those of parts are.
inline constexpr uint32_t kMostRecordWords = 256;
[[nodiscard]] TUTTI_BOTH inline uint32_t num_record_words(uint32_t num_places,
                                                          uint32_t num_notices) {
  return 1 + 2 * num_places + 2 * num_notices;
}

struct DeviceProgram {
  ProgramView view;
  const StepFusion* fusions;
  const Push* pushes;
  const DeviceLink* ins;
  const DeviceLink* outs;
  const Sum* sums;
  const SumSource* sum_sources;
  const Pass* passes;
  const PassPlace* pass_places;
  const Notice* notices;
  const uint32_t* awaited;       // by word of this rank
  const uint32_t* members;       // neighbours of the daemon
  const uint32_t* peer_members;  // by peer: its place among the members
  uint64_t part_bytes;
  uint64_t input_bytes;
  uint64_t scratch_bytes;
  uint32_t num_ins;
  uint32_t num_outs;
  uint32_t num_members;
  uint32_t self;         // among the members
  uint32_t output_step;  // all chunks of the output, for what is done to them at the end
  uint32_t num_parts;
  uint32_t image_bytes;  // of all tables, one behind the other from `image` on
  const std::byte* image;
  Homes homes;
  uint32_t num_sums;
  uint32_t num_passes;
  uint32_t num_places;
  uint32_t num_notices;
  uint8_t is_inline;  // every rank's input travels with the word that it has issued the operation
  uint8_t is_summed;  // and the sums are all there is to do
  uint8_t is_passed;  // not small, and the passes are all there is to do
  uint8_t unused;

  [[nodiscard]] TUTTI_BOTH uint32_t num_words() const { return num_outs + num_ins; }
};

// The program whose tables were copied to `image`.
TUTTI_BOTH inline DeviceProgram moved(const DeviceProgram& from, const std::byte* image) {
  const auto shifted = [&](auto* table) {
    const auto* const at = reinterpret_cast<const std::byte*>(table);
    return reinterpret_cast<decltype(table)>(image + (at - from.image));
  };
  DeviceProgram to = from;
  to.view.lanes = shifted(from.view.lanes);
  to.view.steps = shifted(from.view.steps);
  to.view.deps = shifted(from.view.deps);
  to.view.pieces = shifted(from.view.pieces);
  to.fusions = shifted(from.fusions);
  to.pushes = shifted(from.pushes);
  to.ins = shifted(from.ins);
  to.outs = shifted(from.outs);
  to.sums = shifted(from.sums);
  to.sum_sources = shifted(from.sum_sources);
  to.passes = shifted(from.passes);
  to.pass_places = shifted(from.pass_places);
  to.notices = shifted(from.notices);
  to.awaited = shifted(from.awaited);
  to.members = shifted(from.members);
  to.peer_members = shifted(from.peer_members);
  to.image = image;
  return to;
}
static_assert(std::is_trivially_copyable_v<DeviceProgram>);

}  // namespace tutti::engine::cuda
