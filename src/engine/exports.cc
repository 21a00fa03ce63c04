#include "engine/exports.h"

#include <algorithm>
#include <set>

namespace tutti::engine {
namespace {

using ir::Buffer;
using ir::StepRef;

// Where the message of a step that sends lies, if it is not scratch of the engine's own.
ir::Region sent_region(const ir::Step& step) {
  return step.kind == ir::StepKind::kSend ? step.src() : step.dst();
}

bool overlap(ir::Region a, ir::Region b) {
  return a.buffer == b.buffer && a.index < b.index + b.count && b.index < a.index + a.count;
}

}  // namespace

Exports::Exports(const RankView& view) : program_(view.program()) {
  for (uint32_t lane = 0; lane < program_.lanes.size(); ++lane) {
    const auto& steps = program_.lanes[lane].steps;
    for (uint32_t i = 0; i < steps.size(); ++i) {
      const bool writes = ir::writes_dst(steps[i].kind) && steps[i].dst_buffer == Buffer::kOutput;
      if (writes) output_writers_.push_back({lane, i});
    }
  }
}

uint16_t Exports::number_of(StepRef ref, const Export& region) {
  if (region.buffer == static_cast<uint32_t>(Buffer::kScratch)) return kNoLink;
  const auto next = static_cast<uint16_t>(exports_.size());
  const ir::Step& step = program_.lanes[ref.lane].steps[ref.step];
  if (is_written_before(ref, sent_region(step))) {
    const auto [shared, is_new] =
        shared_.try_emplace({region.buffer, region.at, region.bytes}, next);
    if (!is_new) return shared->second;
  }
  exports_.push_back(region);
  return next;
}

bool Exports::is_written_before(StepRef step, ir::Region region) const {
  if (region.buffer == Buffer::kInput) return true;  // no step writes it
  return std::all_of(output_writers_.begin(), output_writers_.end(), [&](StepRef writer) {
    const ir::Region written = program_.lanes[writer.lane].steps[writer.step].dst();
    return writer == step || !overlap(written, region) || precedes(writer, step);
  });
}

bool Exports::precedes(StepRef first, StepRef second) const {
  std::vector<StepRef> left{second};
  std::set<StepRef> seen{second};
  while (!left.empty()) {
    const StepRef at = left.back();
    left.pop_back();
    if (at.lane == first.lane && at.step > first.step) return true;
    const auto look_at = [&](StepRef before) {
      if (seen.insert(before).second) left.push_back(before);
    };
    if (at == first) return true;
    if (at.step > 0) look_at({at.lane, at.step - 1});
    const ir::Step& step = program_.lanes[at.lane].steps[at.step];
    for (const StepRef dep : program_.deps_of(step)) look_at(dep);
  }
  return false;
}

}  // namespace tutti::engine
