#include "engine/rank_view.h"

namespace tutti::engine {
namespace {

using ir::Buffer;

std::vector<uint64_t> running_sums(const std::vector<uint64_t>& sizes) {
  std::vector<uint64_t> begin{0};
  for (const uint64_t size : sizes) begin.push_back(begin.back() + size);
  return begin;
}

}  // namespace

RankView::RankView(const ir::Schedule& schedule, const ir::Layout& layout, const ir::Sizes& sizes,
                   Rank rank)
    : program_(&schedule.ranks[rank.value]) {
  for (const Buffer buffer : {Buffer::kInput, Buffer::kOutput}) {
    std::vector<uint64_t> elems;
    for (uint32_t i = 0; i < layout.num_chunks(rank, buffer); ++i) {
      elems.push_back(sizes.chunk_elems(layout.chunk_at(rank, buffer, i)));
    }
    begin_[static_cast<size_t>(buffer)] = running_sums(elems);
  }
  std::vector<uint64_t> elems;
  for (const ChunkId chunk : program_->scratch) elems.push_back(sizes.chunk_elems(chunk));
  begin_[static_cast<size_t>(Buffer::kScratch)] = running_sums(elems);
  collect_links();
}

void RankView::collect_links() {
  uint64_t& scratch_end = begin_[static_cast<size_t>(Buffer::kScratch)].back();
  uint64_t end = scratch_end;
  for (uint32_t l = 0; l < program_->lanes.size(); ++l) {
    const ir::Lane& lane = program_->lanes[l];
    for (uint32_t s = 0; s < lane.steps.size(); ++s) {
      const ir::Step& step = lane.steps[s];
      const LinkStep its{&step, {l, s}};
      if (ir::sends(step.kind)) outs_[{step.send_peer.value, lane.channel}].push_back(its);
      if (ir::receives(step.kind)) ins_[{step.recv_peer.value, lane.channel}].push_back(its);
      if (step.kind != ir::StepKind::kRecvReduceSend) continue;
      sum_at_[&step] = end;
      for (uint32_t i = 0; i < step.num_chunks; ++i)
        end += size(step.src_buffer, step.src_index + i);
    }
  }
  begin_[static_cast<size_t>(Buffer::kScratch)].push_back(end);
}

RankView::Source RankView::source(const ir::Step& step) const {
  const bool is_dst =
      step.kind == ir::StepKind::kRecvCopySend || step.kind == ir::StepKind::kRecvReduceCopySend;
  const ir::Region region = is_dst ? step.dst() : step.src();
  Source source{region.buffer, begin(region.buffer, region.index), {}};
  for (uint32_t i = 0; i < region.count; ++i) {
    source.sizes.push_back(size(region.buffer, region.index + i));
  }
  if (const auto sum = sum_at_.find(&step); sum != sum_at_.end()) {
    source.buffer = Buffer::kScratch;
    source.elem = sum->second;
  }
  return source;
}

}  // namespace tutti::engine
