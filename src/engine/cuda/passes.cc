#include "engine/cuda/passes.h"

#include <algorithm>

#include "engine/cuda/rank_steps.h"
#include "ir/step.h"

namespace tutti::engine::cuda {
namespace {

// Each takes a microsecond or two; with more of them others would wait for too long.
constexpr size_t kMostPasses = 32;

class PassMaker {
 public:
  explicit PassMaker(const FusedProgram& fused)
      : fused_(fused), program_(fused.program), steps_(fused.program) {
    out_.awaited.resize(fused.outs.size() + fused.ins.size());
  }

  std::optional<Passes> make() {
    for (uint32_t lane = 0; lane < program_.lanes.size(); ++lane) {
      if (!add_lane(lane)) return std::nullopt;
    }
    if (out_.passes.size() > kMostPasses) return std::nullopt;
    for (uint32_t out = 0; out < fused_.outs.size(); ++out) {
      out_.awaited[out] = fused_.outs[out].owed;
    }
    return std::move(out_);
  }

 private:
  // What a lane is given comes last: whoever goes on with the lane begins there.
  bool add_lane(uint32_t lane) {
    bool was_given = false;
    for (uint32_t i = 0; i < program_.lanes[lane].num_steps; ++i) {
      const Place place{lane, i};
      const ProgramStep& step = steps_.at(place);
      const StepFusion& fusion = fusion_of(place);
      if (!is_free(step, place)) return false;
      if (fusion.is_given != 0) {
        uint32_t& word = out_.awaited[fused_.outs.size() + step.in];
        word = std::max(word, step.in_number + 1);
        was_given = true;
        continue;
      }
      if (was_given) return false;
      if (step.in != kNoLink && step.in_number >= fused_.ins[step.in].implied) return false;
      if (fusion.is_deferred == 0 && !add_step(place)) return false;
    }
    return true;
  }

  // Whether all that it waits for in this rank is done before it, in the order of passes.
  [[nodiscard]] bool is_free(const ProgramStep& step, Place place) const {
    for (uint32_t i = 0; i < step.num_deps; ++i) {
      const ProgramDep& dep = program_.deps[step.first_dep + i];
      const Place other{dep.lane, dep.step};
      const bool is_before =
          other.lane < place.lane || (other.lane == place.lane && other.step < place.step);
      const bool is_released = dep.out == kNoLink || fusion_of(other).is_pushed != 0;
      if (!is_before || !is_released || fusion_of(other).is_given != 0) return false;
    }
    return true;
  }

  bool add_step(Place place) {
    const ProgramStep& step = steps_.at(place);
    const StepFusion& fusion = fusion_of(place);
    const bool is_silent = fusion.is_implied != 0 || fusion.is_pushed != 0;
    if (step_kind(step) == ir::StepKind::kSend) return is_silent;
    uint32_t first = place.step;
    while (first > 0 && fusion_of({place.lane, first - 1}).is_deferred != 0) --first;
    for (uint32_t i = 0; i < step.num_pieces; ++i) add_pass(place, first, i);
    for (uint32_t i = first; i <= place.step; ++i) {
      const ProgramStep& taken = steps_.at({place.lane, i});
      if (taken.in != kNoLink) note(fused_.ins[taken.in], taken.in_number + 1);
    }
    for (uint32_t i = 0; i < fusion.num_pushes; ++i) {
      const Push& push = fused_.pushes[fusion.first_push + i];
      note(fused_.outs[push.out], push.number + 1);
    }
    if (step.out != kNoLink && !is_silent) note(fused_.outs[step.out], step.out_number + 1);
    return true;
  }

  // As Port::move does it.
  void add_pass(Place last, uint32_t first, uint32_t index) {
    const ProgramStep& step = steps_.at(last);
    const StepFusion& fusion = fusion_of(last);
    const Piece& piece = program_.pieces[step.first_piece + index];
    if (piece.bytes == 0) return;
    Pass pass{};
    pass.bytes = piece.bytes;
    pass.first_place = count(out_.places);
    for (uint32_t i = first; i <= last.step; ++i) {
      add_sources(steps_.at({last.lane, i}), i == first, index);
    }
    pass.num_sources = count(out_.places) - pass.first_place;
    if (fusion.is_unkept == 0) add_place(self(), step.dst_buffer, piece.dst);
    for (uint32_t i = 0; i < fusion.num_pushes; ++i) {
      const Push& push = fused_.pushes[fusion.first_push + i];
      add_place(member(push.peer), kOutput, push.at);
    }
    pass.num_dsts = count(out_.places) - pass.first_place - pass.num_sources;
    out_.passes.push_back(pass);
  }
  // In the order of Port::add_sources.
  void add_sources(const ProgramStep& step, bool is_first, uint32_t index) {
    const Piece& piece = program_.pieces[step.first_piece + index];
    const ir::StepKind kind = step_kind(step);
    const bool adds = kind == ir::StepKind::kReduce;
    if (adds && is_first) add_place(self(), step.dst_buffer, piece.dst);
    if (adds || (ir::reads_src(kind) && is_first)) add_place(self(), step.src_buffer, piece.src);
    if (adds || step.in == kNoLink) return;
    add_place(member(fused_.ins[step.in].peer), step.peer_buffer, piece.peer);
  }
  void add_place(uint32_t of, uint8_t buffer, uint64_t at) {
    out_.places.push_back({at, static_cast<uint16_t>(of), buffer, {}});
  }

  void note(const DeviceLink& link, uint32_t number) {
    const uint32_t to = member(link.peer);
    for (Notice& known : out_.notices) {
      if (known.member != to || known.word != link.word) continue;
      known.number = std::max(known.number, number);
      return;
    }
    out_.notices.push_back({to, link.word, number});
  }

  [[nodiscard]] uint32_t self() const { return program_.self.value; }
  [[nodiscard]] uint32_t member(uint32_t peer) const { return program_.peers[peer].value; }
  [[nodiscard]] const StepFusion& fusion_of(Place place) const {
    return fused_.fusions[steps_.index(place)];
  }
  template <class T>
  [[nodiscard]] static uint32_t count(const std::vector<T>& table) {
    return static_cast<uint32_t>(table.size());
  }

  static constexpr auto kOutput = static_cast<uint8_t>(ir::Buffer::kOutput);

  const FusedProgram& fused_;
  const BoundProgram& program_;
  RankSteps steps_;
  Passes out_;
};

}  // namespace

uint64_t traffic_of(const Passes& passes) {
  uint64_t sum = 0;
  for (const Pass& pass : passes.passes) sum += pass.bytes * (pass.num_sources + pass.num_dsts);
  return sum;
}

std::optional<Passes> passes_of(const FusedProgram& fused) { return PassMaker(fused).make(); }

}  // namespace tutti::engine::cuda
