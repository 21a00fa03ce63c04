#include "comm/choose.h"

namespace tutti::comm {
namespace {

// Beyond this an all_reduce where everyone reads everything costs more than a second exchange.
constexpr uint64_t kPullAllBytes = uint64_t{8} * 1024;
constexpr uint64_t kPullAllBytesOfTwo = uint64_t{64} * 1024;
// Beyond this many a rank that serves all others in turn is slower than a tree.
constexpr uint32_t kFewRanks = 16;

bool is_for_pull_all(const Collective& collective, uint64_t bytes) {
  return bytes <= (collective.num_ranks == 2 ? kPullAllBytesOfTwo : kPullAllBytes);
}

}  // namespace

std::string_view choose_algorithm(const Collective& collective, uint64_t bytes) {
  const bool few = collective.num_ranks <= kFewRanks;
  switch (collective.kind) {
    case CollectiveKind::kAllReduce:
      if (!is_for_pull_all(collective, bytes)) return few ? "pull" : "two_shot";
      return few ? "pull_all" : "recursive_doubling";
    case CollectiveKind::kReduce: return few ? "pull" : "reduce_scatter_gather";
    case CollectiveKind::kBroadcast: return few ? "direct" : "binomial";
    case CollectiveKind::kAllGather: return "direct";
    case CollectiveKind::kReduceScatter: return few ? "pull" : "direct";
    case CollectiveKind::kAllToAll: return few ? "direct" : "pairwise";
    case CollectiveKind::kGather: return "direct";
    case CollectiveKind::kScatter: return "direct";
    case CollectiveKind::kBarrier: return few ? "direct" : "dissemination";
    case CollectiveKind::kSendRecv: return "direct";
  }
  return "";
}

}  // namespace tutti::comm
