// What the steps of one rank's program read, write and wait for: what fusion.cc asks before it
// changes anything. Looks at the program and owns nothing.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/bound_program.h"
#include "ir/step.h"

namespace tutti::engine::cuda {

struct Place {
  uint32_t lane;
  uint32_t step;

  friend bool operator==(const Place&, const Place&) = default;
};

// Bytes [at, at + bytes) of a buffer.
struct Span {
  uint8_t buffer;
  uint64_t at;
  uint64_t bytes;

  friend bool operator==(const Span&, const Span&) = default;
  [[nodiscard]] bool overlaps(const Span& other) const {
    return buffer == other.buffer && at < other.at + other.bytes && other.at < at + bytes;
  }
};

inline ir::StepKind step_kind(const ProgramStep& step) {
  return static_cast<ir::StepKind>(step.kind);
}

class RankSteps {
 public:
  explicit RankSteps(const BoundProgram& program) : program_(program) {}

  [[nodiscard]] const ProgramStep& at(Place place) const {
    return program_.steps[program_.lanes[place.lane].first_step + place.step];
  }
  [[nodiscard]] uint32_t index(Place place) const {
    return program_.lanes[place.lane].first_step + place.step;
  }
  template <class Function>
  void for_each(Function function) const {
    for (uint32_t lane = 0; lane < program_.lanes.size(); ++lane) {
      for (uint32_t step = 0; step < program_.lanes[lane].num_steps; ++step) function({lane, step});
    }
  }
  [[nodiscard]] bool waits_for(Place step, Place other) const {
    const ProgramStep& it = at(step);
    for (uint32_t i = 0; i < it.num_deps; ++i) {
      const ProgramDep& dep = program_.deps[it.first_dep + i];
      if (dep.lane == other.lane && dep.step == other.step) return true;
    }
    return false;
  }
  [[nodiscard]] bool is_waited_for(Place other) const {
    bool found = false;
    for_each([&](Place step) { found = found || waits_for(step, other); });
    return found;
  }
  // What a step that writes does so to; one piece or nothing.
  [[nodiscard]] Span written(Place place) const { return span(place, &Piece::dst, true); }
  [[nodiscard]] Span read(Place place) const { return span(place, &Piece::src, false); }
  [[nodiscard]] Span sent(Place place) const {
    const ProgramStep& step = at(place);
    return {step.out_buffer, step.out_at, step.out_bytes};
  }

 private:
  [[nodiscard]] Span span(Place place, uint64_t Piece::*offset, bool is_dst) const {
    const ProgramStep& step = at(place);
    uint64_t begin = UINT64_MAX;
    uint64_t end = 0;
    for (uint32_t i = 0; i < step.num_pieces; ++i) {
      const Piece& piece = program_.pieces[step.first_piece + i];
      begin = std::min(begin, piece.*offset);
      end = std::max(end, piece.*offset + piece.bytes);
    }
    const uint8_t buffer = is_dst ? step.dst_buffer : step.src_buffer;
    return begin < end ? Span{buffer, begin, end - begin} : Span{buffer, 0, 0};
  }

  const BoundProgram& program_;
};

}  // namespace tutti::engine::cuda
