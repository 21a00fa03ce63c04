#include "comm/cuda/device_programs.h"

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/try.h"
#include "comm/chosen_schedule.h"
#include "engine/cuda/fold.h"
#include "engine/cuda/fusion.h"
#include "ir/layout.h"
#include "ir/sizes.h"

namespace tutti::comm {
namespace {

// From here on it pays that all ranks' blocks move a part of what one rank sends or gets.
constexpr uint64_t kSpreadBytes = uint64_t{256} * 1024;

uint64_t elems_of(const ProgramKey& key) {
  if (key.counts.empty()) return key.row_elems;
  return std::accumulate(key.counts.begin(), key.counts.end(), uint64_t{0});
}

Result<ir::Sizes> sizes_of(const ProgramKey& key, const ir::Layout& layout) {
  if (!key.counts.empty()) return ir::Sizes::uneven(layout, key.counts);
  return ir::Sizes::even(layout, key.row_elems);
}

}  // namespace

Choice choose_device_algorithm(const Collective& collective, uint64_t row_bytes) {
  // All inputs travel with the first word: then everyone adds everything.
  const bool is_inline = row_bytes <= engine::cuda::kInlineBytes;
  const bool is_spread = row_bytes >= kSpreadBytes;
  switch (collective.kind) {
    case CollectiveKind::kAllReduce: return {is_inline ? "pull_all" : "pull"};
    case CollectiveKind::kReduce: return {is_spread ? "spread" : "pull"};
    case CollectiveKind::kReduceScatter: return {"pull"};
    case CollectiveKind::kBroadcast: return {is_spread ? "spread" : "direct"};
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
    case CollectiveKind::kBarrier:
    case CollectiveKind::kSendRecv: return {"direct"};
  }
  return {};
}

Choice choose_device_algorithm(const TuningTable& tuning, const Collective& collective,
                               uint64_t row_bytes) {
  const bool is_measured = !tuning.source.empty();
  const auto choice = is_measured ? std::nullopt : find_choice(tuning, collective, row_bytes);
  return choice ? *choice : choose_device_algorithm(collective, row_bytes);
}

Result<LoadedPrograms::Program> DevicePrograms::find(const ProgramKey& key, const Ends& ends) {
  const LoadedPrograms::Key whole{this, key, ends};
  if (LoadedPrograms::Program known = loaded().find(whole)) return known;
  TUTTI_ASSIGN(auto made, make(whole));
  return loaded().add(whole, std::move(made));
}

Result<engine::cuda::LoadedProgram> DevicePrograms::make(const LoadedPrograms::Key& key) const {
  const ProgramKey& call = key.call;
  const bool is_pair = call.kind == CollectiveKind::kSendRecv;
  std::vector<uint32_t> neighbours = members_.neighbours;
  uint32_t self = self_;
  if (is_pair) {
    neighbours = {members_.neighbours[key.ends.from], members_.neighbours[key.ends.to]};
    self = self_ == key.ends.from ? 0 : 1;
  }
  const Collective collective{call.kind, static_cast<uint32_t>(neighbours.size()), call.root,
                              is_pair ? 1U : 0U};
  const uint64_t bytes = elems_of(call) * call.elem_bytes;
  TUTTI_ASSIGN(const auto schedule,
               chosen_schedule(tuning_, collective, bytes,
                               choose_device_algorithm(tuning_, collective, bytes), Rank{self}));
  TUTTI_ASSIGN(const auto layout,
               ir::Layout::create(collective, schedule.schedule().chunks_per_block));
  TUTTI_ASSIGN(const auto sizes, sizes_of(call, layout));
  const auto fused = engine::cuda::fuse(schedule, sizes, call.elem_bytes, engine::kMostSources);
  DeviceNode& node = *members_.node;
  return engine::cuda::LoadedProgram::load(node.daemon().memory(), fused[self], neighbours,
                                           members_.num_workers,
                                           members_.is_far ? &node.daemon().exports() : nullptr);
}

}  // namespace tutti::comm
