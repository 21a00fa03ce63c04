#include "tools/plan_trees.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/try.h"
#include "plan/mixed.h"
#include "plan/packed.h"
#include "plan/packing/certificate.h"
#include "plan/packing/repair.h"
#include "tools/terminal.h"

namespace tutti::tools {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const std::vector<plan::packing::Tree>& trees) {
  ordered_json all = ordered_json::array();
  for (const auto& tree : trees) all.push_back({tree.root, tree.weight, tree.parent, tree.up});
  return all;
}

// Of a file that was proved to be ours; what else it says of them, repair looks at.
std::vector<plan::packing::Tree> trees_from(const ordered_json& all) {
  std::vector<plan::packing::Tree> trees;
  for (const ordered_json& tree : all) {
    trees.push_back({tree.at(0).get<uint32_t>(), tree.at(2).get<std::vector<uint32_t>>(),
                     tree.at(1).get<int64_t>()});
  }
  return trees;
}

ordered_json to_json(const plan::PackedPlan& plan, const Collective& collective,
                     const topo::Topology& topology, uint64_t bytes) {
  const plan::packing::Packing& packing = plan.packing;
  return {{"algorithm", plan.schedule.name},
          {"ranks", collective.num_ranks},
          {"steps", ir::num_steps(plan.schedule)},
          {"options", {{"chunks", plan.chunks}}},
          {"bytes", bytes},
          {"time_ns", plan.ns},
          {"trees", packing.trees.size()},
          {"rings", packing.rings.size()},
          {"depth", packing.depth},
          {"rate_gbps", packing.routed_gbps},
          {"bound_gbps", packing.bound_gbps},
          {"bound_ns", plan::packing::least_ns(topology, packing, bytes)},
          {"all_links_bound_gbps", packing.whole_gbps},
          {"relay_bound_gbps", packing.relay_gbps},
          {"ratio", packing.bound_gbps > 0 ? packing.routed_gbps / packing.bound_gbps : 1.0},
          {"bound", plan::packing::certificate(collective, topology, packing)}};
}

// The trees' rate is that of an endless message; of this one the simulator says what is left.
std::string notes_on(const plan::PackedPlan& plan, const Collective& collective,
                     const topo::Topology& topology, uint64_t bytes) {
  const bool is_rings = !plan.packing.rings.empty();
  std::string notes = fmt::format(
      "{}  {}.\n", is_rings ? "Rings:" : "Trees:", plan::packing::summary(plan.packing));
  const std::string bound = plan::packing::certificate(collective, topology, plan.packing);
  if (!bound.empty()) {
    const double least_ns = plan::packing::least_ns(topology, plan.packing, bytes);
    notes += fmt::format("Bound:  {}. {} take at least {} on these links.\n", bound,
                         format_bytes(bytes), format_ns(least_ns));
  }
  if (plan.ns > 0) {
    notes += fmt::format("Here:   {} take {} in simulation, {}; chunks {}.\n", format_bytes(bytes),
                         format_ns(plan.ns), format_gbps(static_cast<double>(bytes) / plan.ns),
                         plan.chunks);
  }
  return notes;
}

Result<PlanAnswer> answer_packed(const TreeRequest& request, const topo::Topology& topology) {
  TUTTI_ASSIGN(plan::PackedPlan plan,
               plan::plan_packed(request.collective, topology, request.algorithm, request.chunks,
                                 request.bytes));
  std::string notes = notes_on(plan, request.collective, topology, request.bytes);
  ordered_json summary = to_json(plan, request.collective, topology, request.bytes);
  return PlanAnswer{std::move(plan.schedule), std::move(notes), std::move(summary),
                    to_json(plan.packing.trees)};
}

std::string notes_on(const plan::MixedPlan& plan, uint64_t bytes) {
  std::string notes = fmt::format("Fast:   {}.\n", plan::packing::summary(plan.fast));
  if (plan.why_alone.empty()) {
    notes += fmt::format(
        "Slow:   {}; they get {:.1f} % of the message, where the model says {:.1f} %.\n",
        plan::packing::summary(plan.slow), 100 * plan.slow_fraction, 100 * plan.model_fraction);
  } else {
    notes += fmt::format("Slow:   not used: {}.\n", plan.why_alone);
  }
  notes +=
      fmt::format("Bound:  at most {} on all links together.\n", format_gbps(plan.fast.whole_gbps));
  if (plan.ns > 0) {
    notes += fmt::format("Here:   {} take {} in simulation, {}; chunks {}; fast links alone {}.\n",
                         format_bytes(bytes), format_ns(plan.ns),
                         format_gbps(static_cast<double>(bytes) / plan.ns), plan.chunks,
                         format_ns(plan.fast_ns));
  }
  return notes;
}

Result<PlanAnswer> answer_mixed(const TreeRequest& request, const topo::Topology& topology) {
  TUTTI_ASSIGN(plan::MixedPlan plan,
               plan::plan_mixed(request.collective, topology, request.chunks, request.bytes));
  ordered_json summary{{"algorithm", plan.schedule.name},
                       {"ranks", request.collective.num_ranks},
                       {"steps", ir::num_steps(plan.schedule)},
                       {"options", {{"chunks", plan.chunks}}},
                       {"bytes", request.bytes},
                       {"time_ns", plan.ns},
                       {"fast_time_ns", plan.fast_ns},
                       {"fast_gbps", plan.fast.routed_gbps},
                       {"slow_gbps", plan.slow.routed_gbps},
                       {"slow_fraction", plan.slow_fraction},
                       {"model_fraction", plan.model_fraction},
                       {"all_links_bound_gbps", plan.fast.whole_gbps}};
  std::string notes = notes_on(plan, request.bytes);
  return PlanAnswer{std::move(plan.schedule), std::move(notes), std::move(summary)};
}

}  // namespace

Result<PlanAnswer> answer_trees(const TreeRequest& request, const topo::Topology& topology) {
  return request.algorithm == "mixed" ? answer_mixed(request, topology)
                                      : answer_packed(request, topology);
}

Result<PlanAnswer> answer_repaired(const TreeRequest& request, const PlanAnswer& before,
                                   const topo::Topology& topology) {
  using Clock = std::chrono::steady_clock;
  const Collective& collective = request.collective;
  const std::vector<plan::packing::Tree> trees = trees_from(before.trees);
  const auto begin = Clock::now();
  TUTTI_ASSIGN(plan::packing::Repaired repaired,
               plan::packing::repair(collective, trees, topology));
  plan::packing::Packing packing;
  packing.trees = std::move(repaired.trees);
  const uint32_t chunks = before.summary["options"]["chunks"];
  TUTTI_ASSIGN(ir::Schedule schedule,
               plan::make_packed(collective, packing, request.algorithm, chunks));
  const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
  const double was_gbps = before.summary["rate_gbps"];
  std::string notes = fmt::format(
      "Before: {} trees carry {}.\n"
      "Now:    mended in {}: {} edges hung elsewhere, {} shares given up, {} trees of depth {} "
      "carry "
      "{}; without --repair trees are packed anew, with a bound.\n",
      trees.size(), format_gbps(was_gbps), format_ns(took.count()), repaired.num_moved,
      repaired.num_dropped, packing.trees.size(), plan::packing::max_depth(packing.trees),
      format_gbps(repaired.routed_gbps));
  ordered_json summary{
      {"algorithm", schedule.name},        {"ranks", collective.num_ranks},
      {"steps", ir::num_steps(schedule)},  {"options", {{"chunks", chunks}}},
      {"trees", packing.trees.size()},     {"depth", plan::packing::max_depth(packing.trees)},
      {"rate_gbps", repaired.routed_gbps}, {"rate_before_gbps", was_gbps},
      {"moved", repaired.num_moved},       {"dropped", repaired.num_dropped},
      {"repair_ns", took.count()}};
  return PlanAnswer{std::move(schedule), std::move(notes), std::move(summary)};
}

}  // namespace tutti::tools
