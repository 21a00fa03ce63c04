#include "ir/msccl/plan_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/try.h"
#include "ir/msccl/plan.h"

namespace tutti::ir::msccl {
namespace {

using Json = nlohmann::ordered_json;

std::string_view plan_collective(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce: return "allreduce";
    case CollectiveKind::kReduce: return "reduce";
    case CollectiveKind::kBroadcast: return "broadcast";
    case CollectiveKind::kAllGather: return "allgather";
    case CollectiveKind::kReduceScatter: return "reducescatter";
    case CollectiveKind::kAllToAll: return "alltoall";
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
    case CollectiveKind::kBarrier:
    case CollectiveKind::kSendRecv: return "";
  }
  return "";
}

const char* buffer_letter(Buffer buffer) {
  switch (buffer) {
    case Buffer::kInput: return "i";
    case Buffer::kOutput: return "o";
    case Buffer::kScratch: return "s";
  }
  return "";
}

// MSCCL++ divides by both on every rank, so a rank without input (broadcast) has as many chunks as
// the root.
struct BufferChunks {
  uint64_t input;
  uint64_t output;
};

BufferChunks buffer_chunks(const Schedule& schedule) {
  const uint64_t block = schedule.chunks_per_block;
  const uint64_t row = block * schedule.collective.num_ranks;
  switch (schedule.collective.kind) {
    case CollectiveKind::kAllGather: return {block, row};
    case CollectiveKind::kReduceScatter: return {row, block};
    case CollectiveKind::kAllToAll: return {row, row};
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
    case CollectiveKind::kBarrier:
    case CollectiveKind::kSendRecv: return {block, block};
  }
  return {block, block};
}

Json region_json(const PlanRegion& region) {
  Json json;
  if (region.remote_buffer >= 0) {
    json["buffer_id"] = region.remote_buffer;
  } else {
    json["type"] = buffer_letter(region.region.buffer);
  }
  json["index"] = region.region.index;
  json["size"] = region.region.count;
  return json;
}

Json op_json(const PlanOp& op) {
  Json json;
  json["name"] = op.name;
  for (const PlanRegion& region : op.src) json["src_buff"].push_back(region_json(region));
  for (const PlanRegion& region : op.dst) json["dst_buff"].push_back(region_json(region));
  if (!op.channels.empty()) {
    json["channel_ids"] = op.channels;
    json["channel_type"] = "memory";
  }
  if (op.name == "re" || op.name == "res") json["reduce_op"] = "sum";
  if (!op.semaphores.empty()) json["semaphore_ids"] = op.semaphores;
  return json;
}

Json block_json(const PlanBlock& block, size_t id) {
  Json json;
  json["id"] = id;
  json["ops"] = Json::array();
  for (const PlanOp& op : block.ops) json["ops"].push_back(op_json(op));
  json["channels"] = Json::array();
  if (!block.channels.empty()) {
    json["channels"].push_back({{"channel_type", "memory"}, {"channel_ids", block.channels}});
  }
  json["remote_buffer_refs"] = Json::array();
  if (!block.remote_buffers.empty()) {
    json["remote_buffer_refs"].push_back(
        {{"access_channel_type", "memory"}, {"remote_buffer_ids", block.remote_buffers}});
  }
  return json;
}

Json rank_json(const PlanRank& rank, size_t id, BufferChunks chunks) {
  Json json;
  json["id"] = id;
  json["input_chunks"] = chunks.input;
  json["output_chunks"] = chunks.output;
  json["scratch_chunks"] = rank.num_scratch;
  json["channels"] = Json::array();
  if (!rank.channel_peers.empty()) {
    json["channels"].push_back({{"channel_type", "memory"}, {"connected_to", rank.channel_peers}});
  }
  json["remote_buffers"] = Json::array();
  for (const RemoteBuffer& buffer : rank.remote_buffers) {
    json["remote_buffers"].push_back({{"rank", buffer.rank},
                                      {"type", buffer_letter(buffer.buffer)},
                                      {"access_channel_types", Json::array({"memory"})}});
  }
  json["semaphores"] = Json::array();
  for (uint32_t i = 0; i < rank.num_semaphores; ++i) {
    json["semaphores"].push_back({{"init_value", 0}});
  }
  json["threadblocks"] = Json::array();
  for (size_t b = 0; b < rank.blocks.size(); ++b) {
    json["threadblocks"].push_back(block_json(rank.blocks[b], b));
  }
  return json;
}

// The device keeps offsets in 32 bits: no buffer may reach 4 GiB.
uint64_t max_message_bytes(const std::vector<PlanRank>& ranks, BufferChunks chunks) {
  uint64_t longest = std::max(chunks.input, chunks.output);
  for (const PlanRank& rank : ranks) longest = std::max<uint64_t>(longest, rank.num_scratch);
  // What MSCCL++ calls the size of a message: the whole buffer, for allgather the output.
  const uint64_t message = std::max(chunks.input, chunks.output);
  return UINT32_MAX / longest * message;
}

}  // namespace

Result<std::string> to_plan_json(const Schedule& schedule) {
  const std::string_view collective = plan_collective(schedule.collective.kind);
  if (collective.empty()) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("MSCCL++ has no {}; its plans are for allreduce, reduce, broadcast, "
                             "allgather, reducescatter and alltoall",
                             to_string(schedule.collective.kind))};
  }
  TUTTI_ASSIGN(const std::vector<PlanRank> ranks, make_plan(schedule));
  const BufferChunks chunks = buffer_chunks(schedule);
  Json plan;
  plan["name"] = schedule.name;
  plan["collective"] = collective;
  plan["protocol"] = "Simple";
  plan["inplace"] = schedule.placement == Placement::kInPlace;
  plan["reuse_resources"] = false;
  plan["gpus"] = Json::array();
  for (size_t r = 0; r < ranks.size(); ++r) plan["gpus"].push_back(rank_json(ranks[r], r, chunks));
  plan["num_threads_per_block"] = 1024;
  plan["use_double_scratch_buffer"] = false;
  plan["buffer_alignment"] = 16;
  plan["min_message_size"] = 0;
  plan["max_message_size"] = max_message_bytes(ranks, chunks);
  return plan.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tutti::ir::msccl
