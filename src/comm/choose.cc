#include "comm/choose.h"

namespace tutti::comm {
namespace {

// Beyond this a one-shot all_reduce, where everyone reads everything, costs more than the second
// exchange of a two-shot.
constexpr uint64_t kOneShotBytes = 2048;
constexpr uint32_t kFewRanks = 16;

}  // namespace

std::string_view choose_algorithm(const Collective& collective, uint64_t bytes) {
  const bool few = collective.num_ranks <= kFewRanks;
  switch (collective.kind) {
    case CollectiveKind::kAllReduce:
      if (bytes > kOneShotBytes) return "two_shot";
      return few ? "one_shot" : "recursive_doubling";
    case CollectiveKind::kReduce: return few ? "binomial" : "reduce_scatter_gather";
    case CollectiveKind::kBroadcast: return "binomial";
    case CollectiveKind::kAllGather: return "direct";
    case CollectiveKind::kReduceScatter: return "direct";
    case CollectiveKind::kAllToAll: return "pairwise";
    case CollectiveKind::kGather: return "direct";
    case CollectiveKind::kScatter: return "direct";
    case CollectiveKind::kBarrier: return "dissemination";
    case CollectiveKind::kSendRecv: return "direct";
  }
  return "";
}

}  // namespace tutti::comm
