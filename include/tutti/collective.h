// The collectives tutti knows, and the facts of one call that shape its schedule.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tutti {

enum class CollectiveKind : uint8_t {
  kAllReduce,
  kReduce,
  kBroadcast,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kGather,
  kScatter,
  kBarrier,
  kSendRecv,
};
inline constexpr int kNumCollectiveKinds = 10;

// "all_reduce", "send_recv", ...: the spelling of files and of the command line.
[[nodiscard]] std::string_view to_string(CollectiveKind kind) noexcept;
[[nodiscard]] std::optional<CollectiveKind> parse_collective_kind(std::string_view text) noexcept;

// A collective without its size: one schedule serves every message size.
// `root` counts for reduce, broadcast, gather and scatter, and is the sender of send_recv;
// `peer` is the receiver of send_recv. Both are 0 elsewhere.
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  uint32_t num_ranks = 1;
  uint32_t root = 0;
  uint32_t peer = 0;

  friend bool operator==(const Collective&, const Collective&) = default;
};

[[nodiscard]] constexpr bool is_rooted(CollectiveKind kind) noexcept {
  return kind == CollectiveKind::kReduce || kind == CollectiveKind::kBroadcast ||
         kind == CollectiveKind::kGather || kind == CollectiveKind::kScatter ||
         kind == CollectiveKind::kSendRecv;
}

[[nodiscard]] constexpr bool is_reducing(CollectiveKind kind) noexcept {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduce ||
         kind == CollectiveKind::kReduceScatter;
}

}  // namespace tutti
