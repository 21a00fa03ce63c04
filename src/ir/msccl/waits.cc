#include "ir/msccl/waits.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "ir/msccl/places.h"
#include "ir/msccl/rank_order.h"

namespace tutti::ir::msccl {
namespace {

// What a step reads for its message, which may be read until the message is taken. (A
// recv_reduce_send reads src when its message is taken.)
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
        writers_(program_.lanes.size()),
        senders_(program_.lanes.size()) {
    for (size_t l = 0; l < program_.lanes.size(); ++l) {
      writers_[l].resize(program_.lanes[l].steps.size());
      senders_[l].resize(program_.lanes[l].steps.size());
    }
  }

  RankProgram translate() && {
    for (StepRef ref : order_.order()) {
      for (StepRef dep : program_.deps_of(step(ref))) add_writers_before(ref, dep);
    }
    guard_overwrites();
    keep_cycles();
    return with_deps();
  }

 private:
  // For a step: of each lane, the latest step that it must come after.
  using Latest = std::map<uint32_t, uint32_t>;

  [[nodiscard]] const Step& step(StepRef ref) const {
    return program_.lanes[ref.lane].steps[ref.step];
  }

  static void add(Latest& latest, StepRef dep) {
    const auto [entry, is_new] = latest.try_emplace(dep.lane, dep.step);
    if (!is_new) entry->second = std::max(entry->second, dep.step);
  }

  // A wait for a send is one for the last step before it that writes, and for what the sends in
  // between wait for themselves.
  void add_writers_before(StepRef ref, StepRef dep) {
    Latest& mine = writers_[ref.lane][ref.step];
    for (uint32_t s = dep.step + 1; s-- > 0;) {
      if (writes_dst(program_.lanes[dep.lane].steps[s].kind)) return add(mine, {dep.lane, s});
      for (const auto& [lane, last] : writers_[dep.lane][s]) add(mine, {lane, last});
    }
  }

  void guard_overwrites() {
    std::unordered_map<uint64_t, std::vector<StepRef>> lent;  // place -> steps that send it
    for (StepRef ref : order_.order()) {
      const Step& here = step(ref);
      for (uint32_t i = 0; writes_dst(here.kind) && i < here.num_chunks; ++i) {
        const uint64_t place = places_.of(here.dst_buffer, here.dst_index + i);
        // In place, a copy of a chunk to where it is writes nothing.
        const bool stays = here.kind == StepKind::kCopy &&
                           places_.of(here.src_buffer, here.src_index + i) == place;
        if (!stays) guard(ref, lent[place]);
      }
      if (!sends(here.kind)) continue;
      const Region region = lent_region(here);
      for (uint32_t i = 0; i < region.count; ++i) {
        lent[places_.of(region.buffer, region.index + i)].push_back(ref);
      }
    }
  }

  // Messages of one connection are taken in order: the last send of a lane is enough.
  void guard(StepRef writer, std::vector<StepRef>& lenders) {
    std::erase_if(lenders, [&](StepRef lender) {
      if (!order_.before(lender, writer)) return false;
      add(senders_[writer.lane][writer.step], lender);
      return true;
    });
  }

  // Steps that wait for themselves go on doing so: it is for the verifier to say.
  void keep_cycles() {
    std::vector<uint32_t> num_ordered(program_.lanes.size(), 0);
    for (StepRef ref : order_.order()) ++num_ordered[ref.lane];
    for (uint32_t l = 0; l < program_.lanes.size(); ++l) {
      for (uint32_t s = num_ordered[l]; s < program_.lanes[l].steps.size(); ++s) {
        for (StepRef dep : program_.deps_of(step({l, s}))) add(writers_[l][s], dep);
      }
    }
  }

  [[nodiscard]] RankProgram with_deps() const {
    RankProgram result = program_;
    result.deps.clear();
    for (size_t l = 0; l < result.lanes.size(); ++l) {
      for (size_t s = 0; s < result.lanes[l].steps.size(); ++s) {
        std::set<StepRef> deps;
        for (const auto& [lane, last] : writers_[l][s]) {
          if (lane != l || last >= s) deps.insert({lane, last});
        }
        for (const auto& [lane, last] : senders_[l][s]) deps.insert({lane, last});
        Step& here = result.lanes[l].steps[s];
        here.num_deps = static_cast<uint32_t>(deps.size());
        here.first_dep = deps.empty() ? 0 : static_cast<uint32_t>(result.deps.size());
        result.deps.insert(result.deps.end(), deps.begin(), deps.end());
      }
    }
    return result;
  }

  const Places places_;
  const RankProgram& program_;
  const RankOrder order_;
  std::vector<std::vector<Latest>> writers_;  // of every lane and step
  std::vector<std::vector<Latest>> senders_;
};

}  // namespace

RankProgram translate_waits(const Schedule& schedule, const Layout& layout, Rank rank) {
  return Translator(schedule, layout, rank).translate();
}

}  // namespace tutti::ir::msccl
