#include "ir/msccl/landing.h"

#include <unordered_map>

#include "ir/msccl/places.h"
#include "ir/msccl/rank_order.h"

namespace tutti::ir::msccl {
namespace {

class Chooser {
 public:
  Chooser(const Schedule& schedule, const Layout& layout, Rank rank)
      : schedule_(schedule),
        program_(schedule.ranks[rank.value]),
        places_(schedule, layout, rank),
        order_(program_) {
    for (StepRef ref : order_.order()) {
      const Step& step = program_.lanes[ref.lane].steps[ref.step];
      if (reads_src(step.kind)) add_accesses(ref, step.src());
      if (writes_dst(step.kind)) add_accesses(ref, step.dst());
    }
  }

  Landing choose() const {
    Landing landing;
    landing.num_scratch = static_cast<uint32_t>(program_.scratch.size());
    for (uint32_t l = 0; l < program_.lanes.size(); ++l) {
      auto& regions = landing.regions.emplace_back();
      for (uint32_t s = 0; s < program_.lanes[l].steps.size(); ++s) {
        const Step& step = program_.lanes[l].steps[s];
        Region region;
        if (receives(step.kind) && lands_directly(step, {l, s})) {
          region = step.dst();
        } else if (receives(step.kind)) {
          region = scratch(landing.num_scratch, step.num_chunks);
          landing.num_scratch += step.num_chunks;
        }
        regions.push_back(region);
      }
    }
    return landing;
  }

 private:
  void add_accesses(StepRef ref, Region region) {
    for (uint32_t i = 0; i < region.count; ++i) {
      accesses_[places_.of(region.buffer, region.index + i)].push_back(ref);
    }
  }

  // Every other access to the target must come after the step that takes the message.
  [[nodiscard]] bool lands_directly(const Step& step, StepRef ref) const {
    if (reduces(step.kind) || base_differs(step.dst_buffer)) return false;
    for (uint32_t i = 0; i < step.num_chunks; ++i) {
      const auto found = accesses_.find(places_.of(step.dst_buffer, step.dst_index + i));
      if (found == accesses_.end()) return false;
      for (StepRef other : found->second) {
        if (other != ref && !order_.before(ref, other)) return false;
      }
    }
    return true;
  }

  // MSCCL++ finds a peer's buffer at the offset that the caller's own has in its allocation. In
  // place, the slice that is both input and output has another offset on every rank.
  [[nodiscard]] bool base_differs(Buffer buffer) const {
    if (schedule_.placement == Placement::kOutOfPlace) return false;
    switch (schedule_.collective.kind) {
      case CollectiveKind::kAllGather:
      case CollectiveKind::kGather: return buffer == Buffer::kInput;
      case CollectiveKind::kReduceScatter:
      case CollectiveKind::kScatter: return buffer == Buffer::kOutput;
      case CollectiveKind::kAllReduce:
      case CollectiveKind::kReduce:
      case CollectiveKind::kBroadcast:
      case CollectiveKind::kAllToAll:
      case CollectiveKind::kBarrier:
      case CollectiveKind::kSendRecv: return false;
    }
    return false;
  }

  const Schedule& schedule_;
  const RankProgram& program_;
  const Places places_;
  const RankOrder order_;
  std::unordered_map<uint64_t, std::vector<StepRef>> accesses_;
};

}  // namespace

Landing choose_landing(const Schedule& schedule, const Layout& layout, Rank rank) {
  return Chooser(schedule, layout, rank).choose();
}

}  // namespace tutti::ir::msccl
