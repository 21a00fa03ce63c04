#include "tests/mutants/cells.h"

namespace tutti::mutants {

using ir::Buffer;

uint64_t contribution(uint32_t rank, uint32_t chunk) {
  // splitmix64: well-spread numbers, so that no two sums meet by accident.
  uint64_t x = (uint64_t{rank} << 32 | chunk) + 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

CellMap::CellMap(const ir::Schedule& schedule, const ir::Layout& layout, bool in_place) {
  constexpr uint32_t kGarbage = 1000;
  for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
    std::vector<std::vector<uint32_t>> of_rank(ir::kNumBuffers);
    auto& inputs = of_rank[static_cast<size_t>(Buffer::kInput)];
    auto& outputs = of_rank[static_cast<size_t>(Buffer::kOutput)];
    for (uint32_t i = 0; i < layout.num_chunks(Rank{r}, Buffer::kInput); ++i) {
      const uint32_t chunk = layout.chunk_at(Rank{r}, Buffer::kInput, i).value;
      inputs.push_back(add_cell({contribution(r, chunk), chunk + 1}, chunk + 1));
    }
    for (uint32_t i = 0; i < layout.num_chunks(Rank{r}, Buffer::kOutput); ++i) {
      const uint32_t chunk = layout.chunk_at(Rank{r}, Buffer::kOutput, i).value;
      outputs.push_back(add_cell({contribution(kGarbage + r, chunk), chunk + 1}, chunk + 1));
    }
    // In place: output[i] is input[j], where both are the same chunk of this rank.
    for (uint32_t i = 0; in_place && i < outputs.size(); ++i) {
      for (uint32_t j = 0; j < inputs.size(); ++j) {
        const bool same = layout.chunk_at(Rank{r}, Buffer::kOutput, i) ==
                          layout.chunk_at(Rank{r}, Buffer::kInput, j);
        if (same) outputs[i] = inputs[j];
      }
    }
    auto& scratch = of_rank[static_cast<size_t>(Buffer::kScratch)];
    for (ChunkId chunk : schedule.ranks[r].scratch) {
      const bool any = chunk == ir::kAnyChunk;
      const auto index = static_cast<uint32_t>(scratch.size());
      const uint64_t garbage = contribution(2 * kGarbage + r, index);
      scratch.push_back(add_cell({garbage, any ? UINT32_MAX : chunk.value + 1},
                                 any ? UINT32_MAX : chunk.value + 1));
    }
    cell_of_.push_back(std::move(of_rank));
  }
}

uint32_t CellMap::add_cell(Cell content, uint32_t room) {
  initial_.push_back(content);
  room_.push_back(room);
  return static_cast<uint32_t>(initial_.size() - 1);
}

uint64_t expected(const ir::Layout& layout, uint32_t chunk) {
  const Collective& c = layout.collective();
  const uint32_t block = chunk / layout.chunks_per_block();
  uint64_t sum = 0;
  for (uint32_t r = 0; r < c.num_ranks; ++r) {
    bool contributes = is_reducing(c.kind);
    if (c.kind == CollectiveKind::kAllGather || c.kind == CollectiveKind::kGather) {
      contributes = r == block;
    } else if (c.kind == CollectiveKind::kAllToAll) {
      contributes = r == block / c.num_ranks;
    } else if (!contributes) {
      contributes = r == c.root;
    }
    if (contributes) sum += contribution(r, chunk);
  }
  return sum;
}

}  // namespace tutti::mutants
