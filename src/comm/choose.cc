#include "comm/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tutti::comm {
namespace {

// Beyond this an all_reduce where everyone reads everything costs more than a second exchange.
constexpr uint64_t kPullAllBytes = uint64_t{16} * 1024;
constexpr uint64_t kPullAllBytesOfTwo = uint64_t{64} * 1024;
// Beyond this many a rank that serves all others in turn is slower than a tree.
constexpr uint32_t kFewRanks = 16;

// A sum is made in pieces of about this size, which stay in a core's cache while one rank's
// contribution after the other is added.
constexpr uint64_t kPieceBytes = uint64_t{256} * 1024;
constexpr uint64_t kMostPieces = 64;

Choice pull(uint64_t bytes_of_owner) {
  const uint64_t pieces = std::bit_ceil(std::max<uint64_t>(bytes_of_owner / kPieceBytes, 1));
  return {"pull", {.chunks = static_cast<uint32_t>(std::min(pieces, kMostPieces))}};
}

bool is_for_pull_all(const Collective& collective, uint64_t bytes) {
  return bytes <= (collective.num_ranks == 2 ? kPullAllBytesOfTwo : kPullAllBytes);
}

}  // namespace

std::string to_string(const Choice& choice) {
  std::string text(choice.algorithm);
  const auto add = [&](const char* name, uint32_t value) {
    if (value != 0) text += fmt::format(", {} {}", name, value);
  };
  add("chunks", choice.options.chunks);
  add("radix", choice.options.radix);
  add("group_size", choice.options.group_size);
  return text;
}

Choice choose_algorithm(const Collective& collective, uint64_t bytes) {
  const uint32_t p = collective.num_ranks;
  const bool few = p <= kFewRanks;
  switch (collective.kind) {
    case CollectiveKind::kAllReduce:
      if (!is_for_pull_all(collective, bytes)) return few ? pull(bytes / p) : Choice{"two_shot"};
      return {few ? "pull_all" : "recursive_doubling"};
    case CollectiveKind::kReduce: return few ? pull(bytes) : Choice{"reduce_scatter_gather"};
    case CollectiveKind::kBroadcast: return {few ? "direct" : "binomial"};
    case CollectiveKind::kAllGather: return {"direct"};
    case CollectiveKind::kReduceScatter: return few ? pull(bytes / p) : Choice{"direct"};
    case CollectiveKind::kAllToAll: return {few ? "direct" : "pairwise"};
    case CollectiveKind::kGather: return {"direct"};
    case CollectiveKind::kScatter: return {"direct"};
    case CollectiveKind::kBarrier: return {few ? "direct" : "dissemination"};
    case CollectiveKind::kSendRecv: return {"direct"};
  }
  return {};
}

}  // namespace tutti::comm
