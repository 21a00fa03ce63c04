#include "tools/view/answers.h"

#include <fmt/format.h>

#include "base/try.h"
#include "plan/algorithm.h"
#include "tools/terminal.h"
#include "topo/cluster.h"
#include "topo/machines.h"
#include "topo/open.h"
#include "topo/variants.h"
#include "tutti/version.h"

namespace tutti::view {
namespace {

constexpr uint64_t kMostRanks = 1024;

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

}  // namespace

Result<ir::Schedule> schedule_of(const Shelf& shelf, const Question& question) {
  if (question.parameters.contains("file")) {
    TUTTI_ASSIGN(const uint64_t number, number_of(question, "file", 0));
    TUTTI_ASSIGN(const auto file, shelf.get(number));
    if (const auto* schedule = std::get_if<ir::Schedule>(&file->content)) return *schedule;
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} is a trace, not a schedule; open it under Real runs", file->name)};
  }
  TUTTI_ASSIGN(const CollectiveKind kind, kind_of(question));
  TUTTI_ASSIGN(const uint64_t ranks,
               number_of(question, "ranks", Defaults::kRanks, {1, kMostRanks}));
  TUTTI_ASSIGN(const uint64_t root, number_of(question, "root", 0));
  TUTTI_ASSIGN(const uint64_t peer, number_of(question, "peer", 0));
  TUTTI_ASSIGN(const uint64_t chunks, number_of(question, "chunks", 0));
  TUTTI_ASSIGN(const uint64_t radix, number_of(question, "radix", 0));
  TUTTI_ASSIGN(const uint64_t group_size, number_of(question, "group_size", 0));
  const Collective collective{kind, static_cast<uint32_t>(ranks), static_cast<uint32_t>(root),
                              static_cast<uint32_t>(peer)};
  const plan::Options options{.chunks = static_cast<uint32_t>(chunks),
                              .radix = static_cast<uint32_t>(radix),
                              .group_size = static_cast<uint32_t>(group_size)};
  return plan::make(collective, text_of(question, "algorithm"), options);
}

Result<topo::Topology> machine_of(const Shelf& shelf, const Question& question,
                                  uint32_t num_ranks) {
  const std::string usual = shelf.machine_name().empty() ? "model" : shelf.machine_name();
  const std::string name = text_of(question, "topo", usual);
  if (name == "model") return model_of(question, num_ranks);
  topo::Topology machine;
  if (!name.empty() && name == shelf.machine_name()) {
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

ordered_json answer_catalogue(const Shelf& shelf) {
  ordered_json json{{"schema", kSchemaVersion}, {"version", version()}};
  json["defaults"] = {{"collective", "all_reduce"},
                      {"algorithm", "ring"},
                      {"ranks", Defaults::kRanks},
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
  for (const plan::Algorithm& algorithm : plan::algorithms()) {
    json["algorithms"].push_back({{"collective", to_string(algorithm.kind)},
                                  {"name", algorithm.name},
                                  {"idea", algorithm.idea},
                                  {"cost", algorithm.cost},
                                  {"takes_chunks", algorithm.takes_chunks},
                                  {"takes_radix", algorithm.takes_radix},
                                  {"takes_group_size", algorithm.takes_group_size}});
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
  if (question.name == "trace") return answer_trace(shelf, question);
  return Error{ErrorCode::kNotFound,
               fmt::format("there is no answer named '{}'; there are: catalogue, schedule, "
                           "simulation, costs, sweep, trace",
                           question.name)};
}

}  // namespace tutti::view
