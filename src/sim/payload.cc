#include "sim/payload.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/try.h"

namespace tutti::sim {
namespace {

// Running sums are kept when they are not larger than the rest of the simulation.
constexpr uint64_t kFewChunks = 1 << 16;

Result<ir::Sizes> make_sizes(const ir::Layout& layout, const Options& options) {
  if (options.elem_bytes == 0) {
    return Error{ErrorCode::kInvalidArgument, "an element has at least one byte"};
  }
  if (!options.block_elems.empty()) return ir::Sizes::uneven(layout, options.block_elems);
  if (options.bytes % options.elem_bytes != 0) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} bytes are not a whole number of elements of {} bytes",
                             options.bytes, options.elem_bytes)};
  }
  return ir::Sizes::even(layout, options.bytes / options.elem_bytes);
}

}  // namespace

Result<Payload> Payload::create(const Program& program, const Options& options) {
  const ir::Schedule& schedule = program.schedule();
  TUTTI_ASSIGN(const ir::Layout layout,
               ir::Layout::create(schedule.collective, schedule.chunks_per_block));
  TUTTI_ASSIGN(ir::Sizes sizes, make_sizes(layout, options));
  return Payload(program, layout, std::move(sizes), options.elem_bytes);
}

Payload::Payload(const Program& program, ir::Layout layout, ir::Sizes sizes, uint32_t elem_bytes)
    : program_(&program), layout_(layout), sizes_(std::move(sizes)), elem_bytes_(elem_bytes) {
  if (layout_.num_chunks() <= std::max<uint64_t>(kFewChunks, program.num_steps())) {
    first_elem_.reserve(layout_.num_chunks() + 1);
    first_elem_.push_back(0);
    for (uint32_t c = 0; c < layout_.num_chunks(); ++c) {
      first_elem_.push_back(first_elem_.back() + sizes_.chunk_elems(ChunkId{c}));
    }
  }
  for (const ir::RankProgram& rank : program.schedule().ranks) {
    held_.push_back(rank.scratch);
    follows_ |=
        std::find(rank.scratch.begin(), rank.scratch.end(), ir::kAnyChunk) != rank.scratch.end();
  }
}

uint64_t Payload::run_elems(uint64_t first_chunk, uint64_t num_chunks) const {
  if (!first_elem_.empty()) return first_elem_[first_chunk + num_chunks] - first_elem_[first_chunk];
  uint64_t sum = 0;
  for (uint64_t c = first_chunk; c < first_chunk + num_chunks; ++c) {
    sum += sizes_.chunk_elems(ChunkId{static_cast<uint32_t>(c)});
  }
  return sum;
}

uint64_t Payload::elems(Rank rank, ir::Region region) const {
  if (region.count == 0) return 0;
  if (region.buffer == ir::Buffer::kScratch) return scratch_elems(rank, region);
  const bool is_one_run =
      layout_.collective().kind != CollectiveKind::kAllToAll || region.buffer == ir::Buffer::kInput;
  if (is_one_run) {
    return run_elems(layout_.chunk_at(rank, region.buffer, region.index).value, region.count);
  }
  uint64_t sum = 0;
  const uint32_t end = region.index + region.count;
  for (uint32_t at = region.index; at < end;) {
    const uint32_t block_end = (at / layout_.chunks_per_block() + 1) * layout_.chunks_per_block();
    const uint32_t run_end = std::min(end, block_end);
    sum += run_elems(layout_.chunk_at(rank, region.buffer, at).value, run_end - at);
    at = run_end;
  }
  return sum;
}

uint64_t Payload::scratch_elems(Rank rank, ir::Region region) const {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < region.count; ++i) {
    sum += sizes_.chunk_elems(held_[rank.value][region.index + i]);
  }
  return sum;
}

double Payload::local_bytes(StepNumber number) const {
  const ir::Step& step = program_->step(number);
  const bool src_is_cheaper = step.src_buffer != ir::Buffer::kScratch;
  const Rank rank = program_->rank_of(number);
  // The dst of a copy may still hold something else, or nothing.
  const bool src_only = step.kind == ir::StepKind::kCopy;
  return static_cast<double>(elems(rank, src_only || src_is_cheaper ? step.src() : step.dst())) *
         elem_bytes_;
}

// All regions of the two steps hold the same chunks; one that is not scratch is quickly summed.
double Payload::message_bytes(StepNumber sender) const {
  if (follows_) {
    if (const auto known = on_the_way_.find(sender); known != on_the_way_.end()) {
      uint64_t sum = 0;
      for (const ChunkId chunk : known->second) sum += sizes_.chunk_elems(chunk);
      return static_cast<double>(sum) * elem_bytes_;
    }
  }
  const ir::Step& out = program_->step(sender);
  const StepNumber taker = program_->taker(sender);
  const ir::Step& in = program_->step(taker);
  const std::pair<const ir::Step*, Rank> ends[] = {{&out, program_->rank_of(sender)},
                                                   {&in, program_->rank_of(taker)}};
  for (const auto& [step, rank] : ends) {
    for (const bool is_src : {true, false}) {
      const bool used = is_src ? ir::reads_src(step->kind) : ir::writes_dst(step->kind);
      const ir::Region region = is_src ? step->src() : step->dst();
      if (!used || region.buffer == ir::Buffer::kScratch) continue;
      return static_cast<double>(elems(rank, region)) * elem_bytes_;
    }
  }
  const ir::Region region = ir::reads_src(out.kind) ? out.src() : out.dst();
  return static_cast<double>(elems(program_->rank_of(sender), region)) * elem_bytes_;
}

ChunkId Payload::chunk_in(Rank rank, ir::Region region, uint32_t i) const {
  if (region.buffer == ir::Buffer::kScratch) return held_[rank.value][region.index + i];
  return layout_.chunk_at(rank, region.buffer, region.index + i);
}

bool Payload::is_any(Rank rank, ir::Region region) const {
  if (region.buffer != ir::Buffer::kScratch) return false;
  const auto& scratch = program_->schedule().ranks[rank.value].scratch;
  const auto first = scratch.begin() + region.index;
  return std::find(first, first + region.count, ir::kAnyChunk) != first + region.count;
}

void Payload::remember(StepNumber sender) {
  const ir::Step& out = program_->step(sender);
  const StepNumber taker = program_->taker(sender);
  const ir::Step& in = program_->step(taker);
  const Rank rank = program_->rank_of(sender);
  const ir::Region src = ir::reads_src(out.kind) ? out.src() : out.dst();
  const bool into_any = ir::writes_dst(in.kind) && is_any(program_->rank_of(taker), in.dst());
  if (!into_any && !is_any(rank, src)) return;
  std::vector<ChunkId>& chunks = on_the_way_[sender];
  chunks.clear();
  for (uint32_t i = 0; i < src.count; ++i) chunks.push_back(chunk_in(rank, src, i));
}

void Payload::follow(StepNumber number) {
  const ir::Step& step = program_->step(number);
  const Rank rank = program_->rank_of(number);
  const bool to_any = ir::writes_dst(step.kind) && is_any(rank, step.dst());
  const StepNumber sender = program_->sender(number);
  const auto known = sender == kNoStep ? on_the_way_.end() : on_the_way_.find(sender);
  if (to_any && step.kind != ir::StepKind::kReduce) {
    for (uint32_t i = 0; i < step.num_chunks; ++i) {
      ChunkId& held = held_[rank.value][step.dst_index + i];
      if (program_->schedule().ranks[rank.value].scratch[step.dst_index + i] != ir::kAnyChunk) {
        continue;
      }
      held = known != on_the_way_.end() ? known->second[i] : chunk_in(rank, step.src(), i);
    }
  }
  if (known != on_the_way_.end()) on_the_way_.erase(known);
}

}  // namespace tutti::sim
