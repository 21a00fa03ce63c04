// In which order a schedule reduces: the expression, over the ranks' contributions, that each
// output position ends with. Two ranks with the same expression get the same bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/layout.h"
#include "ir/schedule.h"

namespace tutti::plan {

class ReductionTrees {
 public:
  using Expression = uint32_t;  // equal numbers are equal expressions; a + b is b + a

  // The schedule must be a right one. Runs it out of place, each message as it is sent.
  explicit ReductionTrees(const ir::Schedule& schedule)
      : schedule_(schedule),
        layout_(ir::Layout::create(schedule.collective, schedule.chunks_per_block).value()),
        memory_(schedule.ranks.size()) {
    for (const ir::RankProgram& program : schedule.ranks) {
      next_step_.emplace_back(program.lanes.size(), 0);
    }
    while (run_all_lanes()) {
    }
  }

  [[nodiscard]] Expression output(uint32_t rank, uint32_t position) {
    return memory_[rank][{ir::Buffer::kOutput, position}];
  }
  // ((x0 + x1) + x2) + ... of a chunk.
  [[nodiscard]] Expression in_rank_order(ChunkId chunk) {
    Expression sum = contribution(0, chunk);
    for (uint32_t r = 1; r < schedule_.ranks.size(); ++r) sum = add(sum, contribution(r, chunk));
    return sum;
  }

 private:
  Expression intern(std::tuple<bool, uint32_t, uint32_t> what) {
    return expressions_.try_emplace(what, static_cast<Expression>(expressions_.size() + 1))
        .first->second;
  }
  Expression contribution(uint32_t rank, ChunkId chunk) {
    return intern({false, rank, chunk.value});
  }
  Expression add(Expression a, Expression b) {
    return intern({true, std::min(a, b), std::max(a, b)});
  }

  bool run_all_lanes() {
    bool ran = false;
    for (uint32_t r = 0; r < schedule_.ranks.size(); ++r) {
      for (uint32_t lane = 0; lane < next_step_[r].size(); ++lane) {
        while (run_next(r, lane)) ran = true;
      }
    }
    return ran;
  }

  bool run_next(uint32_t r, uint32_t lane) {
    const ir::RankProgram& program = schedule_.ranks[r];
    const auto& steps = program.lanes[lane].steps;
    if (next_step_[r][lane] == steps.size()) return false;
    const ir::Step& step = steps[next_step_[r][lane]];
    for (const ir::StepRef dep : program.deps_of(step)) {
      if (next_step_[r][dep.lane] <= dep.step) return false;
    }
    const uint32_t channel = program.lanes[lane].channel;
    std::vector<Expression> values(step.num_chunks);
    if (ir::receives(step.kind)) {
      auto& messages = messages_[{step.recv_peer.value, r, channel}];
      if (messages.empty()) return false;
      values = std::move(messages.front());
      messages.pop_front();
    }
    for (uint32_t i = 0; i < step.num_chunks; ++i) compute(r, step, i, values[i]);
    if (ir::sends(step.kind)) messages_[{r, step.send_peer.value, channel}].push_back(values);
    ++next_step_[r][lane];
    return true;
  }

  void compute(uint32_t r, const ir::Step& step, uint32_t i, Expression& value) {
    if (step.kind == ir::StepKind::kReduce) {
      value = add(read(r, step.dst_buffer, step.dst_index + i),
                  read(r, step.src_buffer, step.src_index + i));
    } else if (ir::reduces(step.kind)) {
      value = add(value, read(r, step.src_buffer, step.src_index + i));
    } else if (ir::reads_src(step.kind)) {
      value = read(r, step.src_buffer, step.src_index + i);
    }
    if (ir::writes_dst(step.kind)) memory_[r][{step.dst_buffer, step.dst_index + i}] = value;
  }

  Expression read(uint32_t r, ir::Buffer buffer, uint32_t index) {
    if (buffer == ir::Buffer::kInput) {
      return contribution(r, layout_.chunk_at(Rank{r}, buffer, index));
    }
    return memory_[r][{buffer, index}];
  }

  const ir::Schedule& schedule_;
  ir::Layout layout_;
  std::vector<std::map<std::pair<ir::Buffer, uint32_t>, Expression>> memory_;
  std::vector<std::vector<uint32_t>> next_step_;  // rank, lane
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::deque<std::vector<Expression>>> messages_;
  std::map<std::tuple<bool, uint32_t, uint32_t>, Expression> expressions_;
};

}  // namespace tutti::plan
