#include "tools/view/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/try.h"
#include "plan/algorithm.h"
#include "plan/mixed.h"
#include "plan/packed.h"
#include "plan/packing/certificate.h"
#include "plan/synth/greedy_plan.h"
#include "plan/synth/steps/step_plan.h"
#include "tools/terminal.h"
#include "topo/cluster.h"
#include "topo/machines.h"
#include "topo/open.h"
#include "topo/variants.h"
#include "tutti/version.h"

namespace tutti::view {
namespace {

constexpr uint64_t kMostRanks = 1024;
constexpr uint32_t kMostRanksToMakeFor = 32;

Result<CollectiveKind> kind_of(const Question& question) {
  const std::string text = text_of(question, "collective", "all_reduce");
  if (const auto kind = parse_collective_kind(text)) return *kind;
  return Error{ErrorCode::kInvalidArgument, fmt::format("'{}' is not a collective", text)};
}

ordered_json describe_file(const ShelfFile& file, size_t number) {
  ordered_json json{{"number", number}, {"name", file.name}};
  if (const auto* schedule = std::get_if<ir::Schedule>(&file.content)) {
    json["kind"] = "schedule";
    json["collective"] = to_string(schedule->collective.kind);
    json["algorithm"] = schedule->name;
    json["ranks"] = schedule->collective.num_ranks;
  } else {
    json["kind"] = "trace";
    json["ranks"] = std::get<trace::Trace>(file.content).num_ranks;
  }
  return json;
}

// The page comes from a browser; what it names is a machine and never a file.
Status check_names_machine(const std::string& text) {
  if (text == "host") return {};
  TUTTI_ASSIGN(const auto cluster, topo::parse_cluster(text));
  const std::string machine(cluster ? cluster->machine : std::string_view(text));
  if (topo::names_machine(machine)) return {};
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("'{}' is no machine or shape; write dgx-a100, ring:8 or dgx-1v*2, or "
                           "give a file when you start: tutti view --topo FILE",
                           text)};
}

Result<topo::Topology> model_of(const Question& question, uint32_t num_ranks) {
  TUTTI_ASSIGN(const double alpha, figure_of(question, "alpha", Defaults::kAlphaNs, 1e9));
  TUTTI_ASSIGN(const double rate, figure_of(question, "rate", Defaults::kRateGbps, 1e6));
  TUTTI_ASSIGN(const double reduce, figure_of(question, "reduce", Defaults::kReduceGbps, 1e6));
  if (rate < 0.001) {
    return Error{ErrorCode::kInvalidArgument, "rate: needs at least 0.001 GB/s"};
  }
  TUTTI_ASSIGN(topo::Topology model, topo::make_machine(fmt::format("switch:{}@{:.3f}GB/s,{:.0f}ns",
                                                                    num_ranks, rate, alpha)));
  for (topo::Node& node : model.nodes) {
    if (node.kind == topo::NodeKind::kDevice) node.reduce_gbps = reduce;
  }
  model.name = "model";
  return model;
}

Result<plan::Options> options_of(const Question& question) {
  TUTTI_ASSIGN(const uint64_t chunks, number_of(question, "chunks", 0));
  TUTTI_ASSIGN(const uint64_t radix, number_of(question, "radix", 0));
  TUTTI_ASSIGN(const uint64_t group_size, number_of(question, "group_size", 0));
  return plan::Options{.chunks = static_cast<uint32_t>(chunks),
                       .radix = static_cast<uint32_t>(radix),
                       .group_size = static_cast<uint32_t>(group_size)};
}

// What an algorithm that is made for a machine is given: the first ranks of it, where it has more
// than the collective.
struct Making {
  Collective collective;
  std::string algorithm;
  topo::Topology machine;
  uint32_t chunks = 0;
};

Result<Making> making_of(const Shelf& shelf, const Question& question,
                         const Collective& collective) {
  TUTTI_ASSIGN(const plan::Options options, options_of(question));
  if (options.radix != 0 || options.group_size != 0) {
    return Error{ErrorCode::kInvalidArgument,
                 "what is made for a machine takes chunks, no radix and no group_size"};
  }
  if (collective.num_ranks > kMostRanksToMakeFor) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("a schedule for {} ranks is not made while you wait; make it with "
                             "tutti plan and open the file, or take up to {} ranks",
                             collective.num_ranks, kMostRanksToMakeFor)};
  }
  TUTTI_ASSIGN(topo::Topology machine, machine_of(shelf, question, collective.num_ranks));
  if (machine.num_ranks() > collective.num_ranks) {
    std::vector<Rank> first;
    for (uint32_t r = 0; r < collective.num_ranks; ++r) first.push_back(Rank{r});
    TUTTI_ASSIGN(machine, topo::subset(machine, first));
  }
  return Making{collective, text_of(question, "algorithm"), std::move(machine), options.chunks};
}

// `part` of the message goes along these. Of gathered and scattered blocks each has its own trees.
void add_trees(const plan::packing::Packing& packing, const Collective& collective, double part,
               std::vector<PlannedTree>& to) {
  const bool by_root = collective.kind == CollectiveKind::kAllGather ||
                       collective.kind == CollectiveKind::kReduceScatter;
  std::map<uint32_t, int64_t> weights;  // of all trees of a block
  for (const auto& tree : packing.trees) weights[by_root ? tree.root : 0] += tree.weight;
  for (const auto& tree : packing.trees) {
    const auto all = static_cast<double>(weights[by_root ? tree.root : 0]);
    to.push_back({tree, part * static_cast<double>(tree.weight) / all});
  }
}

Result<Planned> pack_for_machine(const Making& making, uint64_t bytes) {
  TUTTI_ASSIGN(plan::PackedPlan plan, plan::plan_packed(making.collective, making.machine,
                                                        making.algorithm, making.chunks, bytes));
  Planned planned{std::move(plan.schedule), making.machine.name, {}, {}};
  add_trees(plan.packing, making.collective, 1, planned.trees);
  planned.why.push_back(fmt::format("{}: {}.", plan.packing.rings.empty() ? "Trees" : "Rings",
                                    plan::packing::summary(plan.packing)));
  const std::string bound =
      plan::packing::certificate(making.collective, making.machine, plan.packing);
  if (!bound.empty()) planned.why.push_back(fmt::format("Bound: {}.", bound));
  return planned;
}

Result<Planned> mix_for_machine(const Making& making, uint64_t bytes) {
  TUTTI_ASSIGN(plan::MixedPlan plan,
               plan::plan_mixed(making.collective, making.machine, making.chunks, bytes));
  Planned planned{std::move(plan.schedule), making.machine.name, {}, {}};
  add_trees(plan.fast, making.collective, 1 - plan.slow_fraction, planned.trees);
  add_trees(plan.slow, making.collective, plan.slow_fraction, planned.trees);
  planned.why.push_back(fmt::format("Fast links: {}.", plan::packing::summary(plan.fast)));
  planned.why.push_back(plan.why_alone.empty()
                            ? fmt::format("Slow links: {:.1f} % of the message; {}.",
                                          100 * plan.slow_fraction,
                                          plan::packing::summary(plan.slow))
                            : fmt::format("Fast links alone: {}.", plan.why_alone));
  return planned;
}

Result<Planned> fill_for_machine(const Making& making, uint64_t bytes) {
  plan::synth::GreedyOptions options;
  options.bytes = bytes;
  options.chunks = making.chunks;
  TUTTI_ASSIGN(plan::synth::GreedyPlan plan,
               plan::synth::plan_greedy(making.collective, making.machine, options));
  Planned planned{std::move(plan.schedule), making.machine.name, {}, {}};
  if (plan.bound_ns > 0) planned.why.push_back(fmt::format("Bound: {}.", plan.bound));
  return planned;
}

// `steps` searches for a moment up to here, and for seconds and more beyond.
constexpr uint32_t kMostThoroughRanks = 8;

Result<Planned> step_for_machine(const Making& making, uint64_t bytes) {
  // The same schedule as that of `tutti plan`, but where that would keep a person waiting.
  const auto effort = making.collective.num_ranks <= kMostThoroughRanks ? plan::steps::Effort::kFull
                                                                        : plan::steps::Effort::kLow;
  TUTTI_ASSIGN(
      plan::steps::StepsPlan plan,
      plan::steps::plan_steps(making.collective, making.machine,
                              {.bytes = bytes, .chunks = making.chunks, .effort = effort}));
  const std::string words = plan::steps::summary(plan, making.machine);
  Planned planned{std::move(plan.schedule), making.machine.name, {}, {}};
  if (!words.empty()) planned.why.push_back(fmt::format("Steps: {}.", words));
  return planned;
}

Result<Planned> plan_for_machine(const Shelf& shelf, const Question& question,
                                 const Collective& collective) {
  TUTTI_ASSIGN(const Making making, making_of(shelf, question, collective));
  TUTTI_ASSIGN(const uint64_t bytes,
               number_of(question, "bytes", Defaults::kBytes, {0, kMostBytes}));
  if (making.algorithm == "greedy") return fill_for_machine(making, bytes);
  if (making.algorithm == "steps") return step_for_machine(making, bytes);
  return making.algorithm == "mixed" ? mix_for_machine(making, bytes)
                                     : pack_for_machine(making, bytes);
}

Result<Collective> collective_of(const Question& question) {
  TUTTI_ASSIGN(const CollectiveKind kind, kind_of(question));
  TUTTI_ASSIGN(const uint64_t ranks,
               number_of(question, "ranks", Defaults::kRanks, {1, kMostRanks}));
  TUTTI_ASSIGN(const uint64_t root, number_of(question, "root", 0));
  TUTTI_ASSIGN(const uint64_t peer, number_of(question, "peer", 0));
  return Collective{kind, static_cast<uint32_t>(ranks), static_cast<uint32_t>(root),
                    static_cast<uint32_t>(peer)};
}

}  // namespace

Result<Planned> plan_of(const Shelf& shelf, const Question& question) {
  if (question.parameters.contains("file")) {
    TUTTI_ASSIGN(const uint64_t number, number_of(question, "file", 0));
    TUTTI_ASSIGN(const auto file, shelf.get(number));
    if (const auto* schedule = std::get_if<ir::Schedule>(&file->content)) {
      return Planned{*schedule, "", {}, {}};
    }
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} is a trace, not a schedule; open it under Real runs", file->name)};
  }
  TUTTI_ASSIGN(const Collective collective, collective_of(question));
  TUTTI_ASSIGN(const plan::Options options, options_of(question));
  const std::string algorithm = text_of(question, "algorithm");
  if (plan::needs_topology(algorithm)) return plan_for_machine(shelf, question, collective);
  TUTTI_ASSIGN(ir::Schedule schedule, plan::make(collective, algorithm, options));
  return Planned{std::move(schedule), "", {}, {}};
}

Result<ir::Schedule> schedule_of(const Shelf& shelf, const Question& question) {
  TUTTI_ASSIGN(Planned planned, plan_of(shelf, question));
  return std::move(planned.schedule);
}

Result<std::vector<ir::Schedule>> variants_of(const Shelf& shelf, const Question& question) {
  std::vector<ir::Schedule> variants;
  const std::string algorithm = text_of(question, "algorithm");
  const bool has_trees = algorithm == "packed" || algorithm == "blink";
  if (question.parameters.contains("file") || !has_trees) {
    TUTTI_ASSIGN(ir::Schedule one, schedule_of(shelf, question));
    variants.push_back(std::move(one));
    return variants;
  }
  TUTTI_ASSIGN(const Collective collective, collective_of(question));
  TUTTI_ASSIGN(const Making making, making_of(shelf, question, collective));
  TUTTI_ASSIGN(const auto packing, plan::pack_for(collective, making.machine, algorithm));
  for (const uint32_t chunks : {1u, 8u, 64u}) {
    TUTTI_ASSIGN(ir::Schedule one, plan::make_packed(collective, packing, algorithm,
                                                     making.chunks == 0 ? chunks : making.chunks));
    variants.push_back(std::move(one));
    if (making.chunks != 0) break;
  }
  return variants;
}

Result<topo::Topology> machine_of(const Shelf& shelf, const Question& question,
                                  uint32_t num_ranks) {
  const std::string usual = shelf.machine_name().empty() ? "model" : shelf.machine_name();
  const std::string name = text_of(question, "topo", usual);
  topo::Topology machine;
  if (name == "model") {
    TUTTI_ASSIGN(machine, model_of(question, num_ranks));
  } else if (!name.empty() && name == shelf.machine_name()) {
    machine = shelf.machine();
  } else {
    TUTTI_TRY(check_names_machine(name));
    TUTTI_ASSIGN(machine, topo::open(name));
  }
  if (const std::string fail = text_of(question, "fail"); !fail.empty()) {
    TUTTI_ASSIGN(const topo::LinkChange change, topo::parse_link_change(fail));
    TUTTI_ASSIGN(machine, topo::change_link(machine, change));
  }
  if (machine.num_ranks() < num_ranks) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} has {} ranks and the schedule {}; take fewer ranks, or several "
                             "machines: {}*{}",
                             name, machine.num_ranks(), num_ranks, name,
                             (num_ranks + machine.num_ranks() - 1) / machine.num_ranks())};
  }
  return machine;
}

std::vector<plan::Algorithm> all_algorithms() {
  std::vector<plan::Algorithm> all(plan::algorithms().begin(), plan::algorithms().end());
  const auto made = plan::topology_algorithms();
  all.insert(all.end(), made.begin(), made.end());
  return all;
}

ordered_json answer_catalogue(const Shelf& shelf) {
  ordered_json json{{"schema", kSchemaVersion}, {"version", version()}};
  json["defaults"] = {
      {"collective", "all_reduce"},
      {"algorithm", "ring"},
      {"ranks", shelf.machine_name().empty()
                    ? Defaults::kRanks
                    : std::min<uint64_t>(Defaults::kRanks, shelf.machine().num_ranks())},
      {"bytes", Defaults::kBytes},
      {"topo", shelf.machine_name().empty() ? "model" : shelf.machine_name()},
      {"alpha", Defaults::kAlphaNs},
      {"rate", Defaults::kRateGbps},
      {"reduce", Defaults::kReduceGbps}};
  for (int i = 0; i < kNumCollectiveKinds; ++i) {
    const auto kind = static_cast<CollectiveKind>(i);
    json["collectives"].push_back(
        {{"name", to_string(kind)}, {"rooted", is_rooted(kind)}, {"reducing", is_reducing(kind)}});
  }
  for (const plan::Algorithm& algorithm : all_algorithms()) {
    json["algorithms"].push_back({{"collective", to_string(algorithm.kind)},
                                  {"name", algorithm.name},
                                  {"idea", algorithm.idea},
                                  {"cost", algorithm.cost},
                                  {"takes_chunks", algorithm.takes_chunks},
                                  {"takes_radix", algorithm.takes_radix},
                                  {"takes_group_size", algorithm.takes_group_size},
                                  {"needs_machine", plan::needs_topology(algorithm.name)}});
  }
  for (const topo::MachineEntry& machine : topo::machine_list()) {
    json["machines"].push_back({{"name", machine.name}, {"idea", machine.idea}});
  }
  if (!shelf.machine_name().empty()) {
    json["machines"].push_back({{"name", shelf.machine_name()}, {"idea", "given with --topo"}});
  }
  json["files"] = ordered_json::array();
  const auto files = shelf.all();
  for (size_t i = 0; i < files.size(); ++i) json["files"].push_back(describe_file(*files[i], i));
  return json;
}

Result<ordered_json> answer(const Shelf& shelf, const Question& question) {
  if (question.name == "catalogue") return answer_catalogue(shelf);
  if (question.name == "schedule") return answer_schedule(shelf, question);
  if (question.name == "simulation") return answer_simulation(shelf, question);
  if (question.name == "costs") return answer_costs(shelf, question);
  if (question.name == "sweep") return answer_sweep(shelf, question);
  if (question.name == "order") return answer_order(shelf, question);
  if (question.name == "trace") return answer_trace(shelf, question);
  return Error{ErrorCode::kNotFound,
               fmt::format("there is no answer named '{}'; there are: catalogue, schedule, "
                           "simulation, costs, sweep, order, trace",
                           question.name)};
}

}  // namespace tutti::view
