#include "ir/msccl/waits.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/msccl/places.h"
#include "ir/msccl/rank_order.h"

namespace tutti::ir::msccl {
namespace {

// What a step reads for its message, which may be read until the message is taken.
Region lent_region(const Step& step) {
  const bool from_src = step.kind == StepKind::kSend || step.kind == StepKind::kRecvReduceSend;
  return from_src ? step.src() : step.dst();
}

class Translator {
 public:
  Translator(const Schedule& schedule, const Layout& layout, Rank rank)
      : places_(schedule, layout, rank),
        program_(schedule.ranks[rank.value]),
        order_(program_),
        after_(program_.lanes.size()) {
    for (size_t l = 0; l < after_.size(); ++l) after_[l].resize(program_.lanes[l].steps.size());
  }

  RankProgram translate() && {
    for (uint32_t l = 0; l < program_.lanes.size(); ++l) {
      for (uint32_t s = 0; s < program_.lanes[l].steps.size(); ++s) {
        for (StepRef dep : program_.deps_of(program_.lanes[l].steps[s])) {
          if (const auto writer = last_non_send(dep)) add({l, s}, *writer);
        }
      }
    }
    guard_overwrites();
    return with_deps();
  }

 private:
  [[nodiscard]] std::optional<StepRef> last_non_send(StepRef ref) const {
    const auto& steps = program_.lanes[ref.lane].steps;
    for (uint32_t s = ref.step + 1; s-- > 0;) {
      if (writes_dst(steps[s].kind)) return StepRef{ref.lane, s};
    }
    return std::nullopt;
  }

  void add(StepRef ref, StepRef dep) {
    auto& deps = after_[ref.lane][ref.step];
    if (dep != ref && std::find(deps.begin(), deps.end(), dep) == deps.end()) deps.push_back(dep);
  }

  void guard_overwrites() {
    std::unordered_map<uint64_t, std::vector<StepRef>> lent;  // place -> steps that send it
    for (StepRef ref : order_.order()) {
      const Step& step = program_.lanes[ref.lane].steps[ref.step];
      if (writes_dst(step.kind)) {
        for (uint32_t i = 0; i < step.num_chunks; ++i) {
          guard(ref, lent[places_.of(step.dst_buffer, step.dst_index + i)]);
        }
      }
      if (!sends(step.kind)) continue;
      const Region region = lent_region(step);
      for (uint32_t i = 0; i < region.count; ++i) {
        lent[places_.of(region.buffer, region.index + i)].push_back(ref);
      }
    }
  }

  void guard(StepRef writer, std::vector<StepRef>& lenders) {
    // Messages of one connection are taken in order: the last send of a lane is enough.
    std::unordered_map<uint32_t, uint32_t> last;
    std::erase_if(lenders, [&](StepRef lender) {
      if (!order_.before(lender, writer)) return false;
      last[lender.lane] = std::max(last[lender.lane], lender.step);
      return true;
    });
    for (const auto& [lane, step] : last) add(writer, {lane, step});
  }

  RankProgram with_deps() const {
    RankProgram result = program_;
    result.deps.clear();
    for (size_t l = 0; l < result.lanes.size(); ++l) {
      for (size_t s = 0; s < result.lanes[l].steps.size(); ++s) {
        std::vector<StepRef> deps = after_[l][s];
        std::sort(deps.begin(), deps.end());
        Step& step = result.lanes[l].steps[s];
        step.num_deps = static_cast<uint32_t>(deps.size());
        step.first_dep = deps.empty() ? 0 : static_cast<uint32_t>(result.deps.size());
        result.deps.insert(result.deps.end(), deps.begin(), deps.end());
      }
    }
    return result;
  }

  const Places places_;
  const RankProgram& program_;
  const RankOrder order_;
  std::vector<std::vector<std::vector<StepRef>>> after_;
};

}  // namespace

RankProgram translate_waits(const Schedule& schedule, const Layout& layout, Rank rank) {
  return Translator(schedule, layout, rank).translate();
}

}  // namespace tutti::ir::msccl
