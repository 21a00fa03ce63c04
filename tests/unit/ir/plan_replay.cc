#include "tests/unit/ir/plan_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "ir/layout.h"

namespace tutti::ir::test {
namespace {

using Json = nlohmann::json;
// Sorted contributions; kUnwritten marks memory that nothing has written.
using Value = std::vector<std::pair<uint32_t, uint32_t>>;
const Value kUnwritten = {{UINT32_MAX, UINT32_MAX}};

struct Memory {
  std::vector<Value> cells;
  size_t base[3] = {0, 0, 0};
};

class Replay {
 public:
  Replay(const Json& plan, const Schedule& schedule, PlanAliasing aliasing, uint64_t seed)
      : plan_(plan),
        schedule_(schedule),
        layout_(Layout::create(schedule.collective, schedule.chunks_per_block).value()),
        random_(seed) {
    for (uint32_t r = 0; r < plan["gpus"].size(); ++r) set_up_rank(r, aliasing);
    pair_channels();
  }

  std::string run() {
    while (problem_.empty()) {
      std::vector<Block*> ready;
      bool all_done = true;
      for (Block& block : blocks_) {
        if (block.next == block.ops->size()) continue;
        all_done = false;
        if (can_run(block)) ready.push_back(&block);
      }
      if (all_done) return check_end();
      if (ready.empty()) return describe_stuck();
      step(*ready[random_() % ready.size()]);
    }
    return problem_;
  }

 private:
  struct Block {
    uint32_t rank;
    size_t id;
    const Json* json;
    const Json* ops;
    size_t next = 0;
    // What happened since the last nop.
    bool waited = false;
    bool moved = false;
  };

  void set_up_rank(uint32_t r, PlanAliasing aliasing) {
    const Json& gpu = plan_["gpus"][r];
    if (gpu["id"] != r) problem_ = "gpus out of order";
    Memory memory;
    const size_t in = gpu["input_chunks"];
    const size_t out = gpu["output_chunks"];
    const size_t scratch = gpu["scratch_chunks"];
    if (in == 0 || out == 0) problem_ = "MSCCL++ divides by the chunks of both buffers";
    memory.cells.assign(in + out + scratch, kUnwritten);
    memory.base[1] = in;
    memory.base[2] = in + out;
    if (aliasing == PlanAliasing::kInPlace) alias(memory, in, out, r);
    for (uint32_t i = 0; i < layout_.num_chunks(Rank{r}, Buffer::kInput); ++i) {
      memory.cells[memory.base[0] + i] = {{r, layout_.chunk_at(Rank{r}, Buffer::kInput, i).value}};
    }
    memories_.push_back(std::move(memory));
    semaphores_.push_back(std::vector<int>(gpu["semaphores"].size(), 0));
    for (const Json& block : gpu["threadblocks"]) {
      blocks_.push_back({r, block["id"].get<size_t>(), &block, &block["ops"]});
      if (block["ops"].size() > 64) problem_ = "more than 64 operations in a thread block";
      for (const Json& list : block["channels"]) {
        if (list["channel_ids"].size() > 16) problem_ = "more than 16 channels";
      }
      for (const Json& list : block["remote_buffer_refs"]) {
        if (list["remote_buffer_ids"].size() > 16) problem_ = "more than 16 remote buffers";
      }
    }
  }

  // The larger buffer holds the smaller one at this rank's block.
  static void alias(Memory& memory, size_t in, size_t out, uint32_t r) {
    if (in == out) memory.base[1] = memory.base[0];
    if (in < out) memory.base[0] = memory.base[1] + r * in;
    if (in > out) memory.base[1] = memory.base[0] + r * out;
  }

  // The n-th channel of a with b is one with the n-th of b with a.
  void pair_channels() {
    for (uint32_t r = 0; r < plan_["gpus"].size(); ++r) {
      auto& channels = channels_.emplace_back();
      std::map<uint32_t, uint32_t> used;
      for (const Json& list : plan_["gpus"][r]["channels"]) {
        for (uint32_t peer : list["connected_to"]) channels.push_back({peer, used[peer]++, 0});
      }
    }
    for (uint32_t r = 0; r < channels_.size(); ++r) {
      for (Channel& channel : channels_[r]) {
        if (find(channel.peer, r, channel.ordinal) == nullptr) problem_ = "a channel has no pair";
      }
    }
  }

  struct Channel {
    uint32_t peer;
    uint32_t ordinal;
    int inbound;
  };

  Channel* find(uint32_t rank, uint32_t peer, uint32_t ordinal) {
    for (Channel& channel : channels_[rank]) {
      if (channel.peer == peer && channel.ordinal == ordinal) return &channel;
    }
    return nullptr;
  }

  Channel& channel(const Block& block, size_t local) {
    return channels_[block.rank][(*block.json)["channels"][0]["channel_ids"][local].get<size_t>()];
  }

  bool can_run(const Block& block) {
    const Json& op = (*block.ops)[block.next];
    const std::string name = op["name"];
    if (name == "wait" || name == "rlxwait") {
      for (size_t local : op["channel_ids"]) {
        if (channel(block, local).inbound == 0) return false;
      }
    }
    if (name == "sem_acquire") {
      for (size_t id : op["semaphore_ids"]) {
        if (semaphores_[block.rank][id] == 0) return false;
      }
    }
    return true;
  }

  void step(Block& block) {
    const Json& op = (*block.ops)[block.next++];
    const std::string name = op["name"];
    if (name == "nop") {
      block.waited = block.moved = false;
    } else if (name == "wait" || name == "rlxwait") {
      for (size_t local : op["channel_ids"]) --channel(block, local).inbound;
      block.waited = true;
    } else if (name == "signal" || name == "rlxsignal") {
      must_have_met(block, name);
      for (size_t local : op["channel_ids"]) signal(block, local);
    } else if (name == "sem_acquire") {
      for (size_t id : op["semaphore_ids"]) --semaphores_[block.rank][id];
      block.waited = true;
    } else if (name == "sem_release") {
      must_have_met(block, name);
      for (size_t id : op["semaphore_ids"]) ++semaphores_[block.rank][id];
    } else {
      must_have_met(block, name);
      move(block, op, name);
      block.moved = true;
    }
    if (op.contains("channel_ids") && op["channel_ids"].size() > 8) {
      problem_ = "more than 8 channels in an operation";
    }
    if (op.contains("semaphore_ids") && op["semaphore_ids"].size() > 16) {
      problem_ = "more than 16 semaphores in an operation";
    }
  }

  void must_have_met(const Block& block, const std::string& name) {
    if (block.waited || block.moved) {
      problem_ = fmt::format("gpu {} tb {}: no nop before {}", block.rank, block.id, name);
    }
  }

  void signal(const Block& block, size_t local) {
    const Channel& mine = channel(block, local);
    ++find(mine.peer, block.rank, mine.ordinal)->inbound;
  }

  Value* cells(const Block& block, const Json& region) {
    uint32_t rank = block.rank;
    std::string type = region.value("type", "");
    if (region.contains("buffer_id")) {
      const size_t id = (*block.json)["remote_buffer_refs"][0]["remote_buffer_ids"]
                                     [region["buffer_id"].get<size_t>()];
      const Json& buffer = plan_["gpus"][block.rank]["remote_buffers"][id];
      rank = buffer["rank"];
      type = buffer["type"];
    }
    const size_t buffer = type == "i" ? 0 : type == "o" ? 1 : 2;
    const char* lengths[] = {"input_chunks", "output_chunks", "scratch_chunks"};
    const size_t index = region["index"];
    const size_t size = region["size"];
    if (index + size > plan_["gpus"][rank][lengths[buffer]].get<size_t>() || size == 0) {
      problem_ = fmt::format("gpu {} tb {}: a region outside", block.rank, block.id);
      return nullptr;
    }
    Memory& memory = memories_[rank];
    return memory.cells.data() + memory.base[buffer] + index;
  }

  void move(const Block& block, const Json& op, const std::string& name) {
    const size_t size = op["src_buff"][0]["size"];
    std::vector<Value> result(size);
    for (const Json& source : op["src_buff"]) {
      const Value* from = cells(block, source);
      if (from == nullptr) return;
      for (size_t i = 0; i < size; ++i) {
        result[i].insert(result[i].end(), from[i].begin(), from[i].end());
        std::sort(result[i].begin(), result[i].end());
      }
    }
    const bool reduces = name == "re" || name == "res";
    const bool known = reduces || name == "copy" || name == "put";
    if (!known || op["src_buff"].size() != (reduces ? 2u : 1u)) problem_ = "unknown: " + name;
    for (const Json& target : op["dst_buff"]) {
      Value* to = cells(block, target);
      if (to == nullptr) return;
      std::copy(result.begin(), result.end(), to);
    }
  }

  std::string check_end() {
    for (uint32_t r = 0; r < memories_.size(); ++r) {
      for (const Channel& channel : channels_[r]) {
        if (channel.inbound != 0) return "a signal was never waited for";
      }
      for (int semaphore : semaphores_[r]) {
        if (semaphore != 0) return "a semaphore does not end where it began";
      }
      for (uint32_t i = 0; i < layout_.num_chunks(Rank{r}, Buffer::kOutput); ++i) {
        const uint32_t chunk = layout_.chunk_at(Rank{r}, Buffer::kOutput, i).value;
        if (memories_[r].cells[memories_[r].base[1] + i] != expected(chunk)) {
          return fmt::format("gpu {}: output {} is wrong", r, i);
        }
      }
    }
    return "";
  }

  // Every rank's contribution if the collective reduces, else that of the rank that has the chunk.
  Value expected(uint32_t chunk) const {
    Value value;
    for (uint32_t r = 0; r < schedule_.collective.num_ranks; ++r) {
      for (uint32_t i = 0; i < layout_.num_chunks(Rank{r}, Buffer::kInput); ++i) {
        if (layout_.chunk_at(Rank{r}, Buffer::kInput, i).value == chunk)
          value.push_back({r, chunk});
      }
    }
    return value;
  }

  std::string describe_stuck() const {
    std::string text = "stuck:";
    for (const Block& block : blocks_) {
      if (block.next == block.ops->size()) continue;
      text += fmt::format(" gpu {} tb {} op {} {};", block.rank, block.id, block.next,
                          (*block.ops)[block.next].dump());
    }
    return text;
  }

  const Json& plan_;
  const Schedule& schedule_;
  const Layout layout_;
  std::mt19937_64 random_;
  std::vector<Memory> memories_;
  std::vector<std::vector<Channel>> channels_;
  std::vector<std::vector<int>> semaphores_;
  std::vector<Block> blocks_;
  std::string problem_;
};

}  // namespace

std::string replay_plan(const Json& plan, const Schedule& schedule, PlanAliasing aliasing,
                        uint64_t seed) {
  return Replay(plan, schedule, aliasing, seed).run();
}

}  // namespace tutti::ir::test
