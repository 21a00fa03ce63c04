#include "ir/msccl/algo.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "base/check.h"
#include "base/try.h"

namespace tutti::ir::msccl {
namespace {

constexpr std::array<std::string_view, 9> kRowNames = {"s",    "r",   "rcs", "rrs", "rrc",
                                                       "rrcs", "cpy", "re",  "nop"};
constexpr std::array<StepKind, 8> kStepKinds = {
    StepKind::kSend,           StepKind::kRecv,       StepKind::kRecvCopySend,
    StepKind::kRecvReduceSend, StepKind::kRecvReduce, StepKind::kRecvReduceCopySend,
    StepKind::kCopy,           StepKind::kReduce};

class LimitChecker {
 public:
  explicit LimitChecker(const Algo& algo) : algo_(algo) {}

  Status check() const {
    if (algo_.gpus.size() > kMaxRanks) {
      const std::string place = algo_.source.empty() ? "" : algo_.source + ":1";
      return over(place, fmt::format("there are {} gpus, at most", algo_.gpus.size()), kMaxRanks);
    }
    for (uint32_t g = 0; g < algo_.gpus.size(); ++g) TUTTI_TRY(check_gpu(g));
    return {};
  }

 private:
  static Error over(const std::string& place, std::string_view what, uint32_t limit) {
    return {ErrorCode::kUnsupported, fmt::format("{}{}{} {} that MSCCL takes", place,
                                                 place.empty() ? "" : ": ", what, limit)};
  }

  Status check_gpu(uint32_t g) const {
    const Gpu& gpu = algo_.gpus[g];
    const std::string place = place_name(algo_, g);
    if (gpu.blocks.size() > kMaxBlocks) {
      return over(place, fmt::format("{} thread blocks, at most", gpu.blocks.size()), kMaxBlocks);
    }
    if (std::max({gpu.input_chunks, gpu.output_chunks, gpu.scratch_chunks}) > kMaxOffset + 1) {
      return over(place, "a buffer has more chunks than the", kMaxOffset + 1);
    }
    std::array<uint32_t, kMaxChannels> num_sends{};
    std::array<uint32_t, kMaxChannels> num_recvs{};
    size_t num_nodes = 1 + algo_.gpus.size();
    for (uint32_t b = 0; b < gpu.blocks.size(); ++b) {
      TUTTI_TRY(check_block(g, b));
      const Block& block = gpu.blocks[b];
      num_nodes += 1 + block.rows.size();
      num_sends[block.channel] += block.send >= 0 ? 1 : 0;
      num_recvs[block.channel] += block.recv >= 0 ? 1 : 0;
    }
    const uint32_t most_peers = std::max(*std::max_element(num_sends.begin(), num_sends.end()),
                                         *std::max_element(num_recvs.begin(), num_recvs.end()));
    if (most_peers > kMaxPeersPerChannel) {
      return over(place,
                  fmt::format("{} peers on one channel (use more channels), at most", most_peers),
                  kMaxPeersPerChannel);
    }
    if (num_nodes > kMaxNodes) {
      return over(place, fmt::format("{} XML elements, at most", num_nodes), kMaxNodes);
    }
    return {};
  }

  Status check_block(uint32_t g, uint32_t b) const {
    const Block& block = algo_.gpus[g].blocks[b];
    const std::string place = place_name(algo_, g, static_cast<int32_t>(b));
    if (block.channel >= kMaxChannels) {
      return over(place, fmt::format("channel {} is beyond the", block.channel), kMaxChannels);
    }
    if (block.rows.size() > kMaxRows) {
      return over(
          place,
          fmt::format(
              "{} steps, nops for dependencies included (use more lanes or fewer chunks), at most",
              block.rows.size()),
          kMaxRows);
    }
    for (uint32_t r = 0; r < block.rows.size(); ++r) {
      const Row& row = block.rows[r];
      if (row.type != RowType::kNop && row.count > kMaxCount) {
        return over(place_name(algo_, g, static_cast<int32_t>(b), static_cast<int32_t>(r)),
                    fmt::format("{} chunks in one transfer, at most", row.count), kMaxCount);
      }
      if (row.dep_block > static_cast<int32_t>(kMaxDepBlock)) {
        return over(place_name(algo_, g, static_cast<int32_t>(b), static_cast<int32_t>(r)),
                    fmt::format("waits for tb {}, the last is the", row.dep_block), kMaxDepBlock);
      }
    }
    return {};
  }

  const Algo& algo_;
};

}  // namespace

std::string_view to_string(RowType type) noexcept { return kRowNames[static_cast<size_t>(type)]; }

std::optional<RowType> parse_row_type(std::string_view text) noexcept {
  const auto found = std::find(kRowNames.begin(), kRowNames.end(), text);
  if (found == kRowNames.end()) return std::nullopt;
  return static_cast<RowType>(found - kRowNames.begin());
}

StepKind step_kind(RowType type) {
  TUTTI_CHECK(type != RowType::kNop, "a nop is no step");
  return kStepKinds[static_cast<size_t>(type)];
}

RowType row_type(StepKind kind) {
  return static_cast<RowType>(std::find(kStepKinds.begin(), kStepKinds.end(), kind) -
                              kStepKinds.begin());
}

Status check_limits(const Algo& algo) { return LimitChecker(algo).check(); }

std::string place_name(const Algo& algo, uint32_t gpu, int32_t block, int32_t row) {
  const Gpu& g = algo.gpus[gpu];
  int line = g.line;
  std::string name = fmt::format("gpu {}", gpu);
  if (block >= 0) {
    const Block& b = g.blocks[static_cast<size_t>(block)];
    line = b.line;
    name += fmt::format(" tb {}", block);
    if (row >= 0) {
      line = b.rows[static_cast<size_t>(row)].line;
      name += fmt::format(" step {}", row);
    }
  }
  return algo.source.empty() ? name : fmt::format("{}:{}: {}", algo.source, line, name);
}

std::string_view collective_name(CollectiveKind kind) noexcept {
  switch (kind) {
    case CollectiveKind::kAllReduce: return "allreduce";
    case CollectiveKind::kReduce: return "reduce";
    case CollectiveKind::kBroadcast: return "broadcast";
    case CollectiveKind::kAllGather: return "allgather";
    case CollectiveKind::kReduceScatter: return "reduce_scatter";
    case CollectiveKind::kAllToAll: return "alltoall";
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
    case CollectiveKind::kBarrier:
    case CollectiveKind::kSendRecv: return "";
  }
  return "";
}

std::optional<CollectiveKind> parse_collective_name(std::string_view text) noexcept {
  if (text == "reducescatter") return CollectiveKind::kReduceScatter;  // RCCL's spelling
  for (int i = 0; i < kNumCollectiveKinds && !text.empty(); ++i) {
    const auto kind = static_cast<CollectiveKind>(i);
    if (collective_name(kind) == text) return kind;
  }
  return std::nullopt;
}

uint32_t blocks_per_loop(CollectiveKind kind, uint32_t num_ranks) noexcept {
  const bool one_a_rank = kind == CollectiveKind::kAllGather ||
                          kind == CollectiveKind::kReduceScatter ||
                          kind == CollectiveKind::kAllToAll;
  return one_a_rank ? num_ranks : 1;
}

// Where in which file something stood is no part of what it says.
bool operator==(const Row& a, const Row& b) {
  const auto key = [](const Row& r) {
    return std::tie(r.type, r.src_buffer, r.dst_buffer, r.has_dep, r.src_offset, r.dst_offset,
                    r.count, r.dep_block, r.dep_row, r.hint_step, r.hint_after);
  };
  return key(a) == key(b);
}

bool operator==(const Block& a, const Block& b) {
  const auto key = [](const Block& x) {
    return std::tie(x.send, x.recv, x.channel, x.hint_lane, x.rows);
  };
  return key(a) == key(b);
}

bool operator==(const Gpu& a, const Gpu& b) {
  const auto key = [](const Gpu& g) {
    return std::tie(g.input_chunks, g.output_chunks, g.scratch_chunks, g.hint_scratch, g.blocks);
  };
  return key(a) == key(b);
}

bool operator==(const Algo& a, const Algo& b) {
  const auto key = [](const Algo& x) {
    return std::tie(x.name, x.proto, x.collective, x.num_channels, x.chunks_per_loop, x.in_place,
                    x.out_of_place, x.max_bytes, x.hint_root, x.hint_slots, x.gpus);
  };
  return key(a) == key(b);
}

}  // namespace tutti::ir::msccl
