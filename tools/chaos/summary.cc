#include "tools/chaos/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <vector>

#include "base/try.h"
#include "tools/terminal.h"

namespace tutti::tools::chaos {
namespace {

constexpr std::array<double, 3> kShares{0.5, 0.99, 0.999};
constexpr std::array<const char*, 3> kShareNames{"p50", "p99", "p99.9"};

std::array<double, 3> quantiles(std::vector<double> values) {
  std::array<double, 3> found{};
  if (values.empty()) return found;
  std::sort(values.begin(), values.end());
  for (size_t i = 0; i < kShares.size(); ++i) {
    const double place = kShares[i] * static_cast<double>(values.size() - 1);
    found[i] = values[static_cast<size_t>(std::lround(place))];
  }
  return found;
}

Result<OrderSummary> summarise_order(Communicator& world, const OrderTally& tally) {
  OrderSummary summary;
  std::vector<double> slowest = tally.round_us;
  TUTTI_TRY(world.all_reduce(std::span(slowest), {.op = Op::kMax}).wait());
  const double all_us = std::accumulate(slowest.begin(), slowest.end(), 0.0);
  if (all_us > 0) summary.rounds_per_s = static_cast<double>(slowest.size()) / all_us * 1e6;
  summary.round_us = quantiles(std::move(slowest));
  std::array<uint64_t, 3> sums{tally.switches, tally.looks, tally.operations};
  TUTTI_TRY(world.all_reduce(std::span<uint64_t>(sums)).wait());
  if (sums[2] == 0) return summary;
  summary.switches = static_cast<double>(sums[0]) / static_cast<double>(sums[2]);
  summary.looks = static_cast<double>(sums[1]) / static_cast<double>(sums[2]);
  return summary;
}

std::string replay_of(const Settings& settings) {
  return fmt::format("tutti {}", fmt::join(command_of(settings), " "));
}

nlohmann::json json_of(const OrderSummary& order, bool has_switches) {
  nlohmann::json json;
  for (size_t i = 0; i < kShareNames.size(); ++i) {
    json["round_us"][kShareNames[i]] = order.round_us[i];
  }
  json["rounds_per_s"] = order.rounds_per_s;
  const auto known = [&](double x) { return has_switches ? nlohmann::json(x) : nlohmann::json(); };
  json["switches_per_collective"] = known(order.switches);
  json["looks_per_collective"] = known(order.looks);
  return json;
}

void print_json(const Summary& summary, const Settings& s, const Workload& workload) {
  const bool has_switches = summary.most_switches.has_value();
  nlohmann::json json{{"ranks", s.num_ranks},
                      {"threads", s.threads},
                      {"pattern", to_string(s.pattern)},
                      {"groups", workload.groups.size()},
                      {"collectives", s.num_collectives},
                      {"in_flight", s.in_flight},
                      {"rounds", s.rounds},
                      {"max_bytes", s.max_bytes},
                      {"seed", s.seed},
                      {"operations", summary.num_operations},
                      {"wrong", summary.num_wrong},
                      {"replay", replay_of(s)}};
  json["any_order"] = json_of(summary.any, has_switches);
  json["one_order"] = json_of(summary.one, has_switches);
  json["most_switches"] =
      has_switches ? nlohmann::json(*summary.most_switches) : nlohmann::json(nullptr);
  if (s.on_gpu) {
    json["streams"] = s.num_streams;
    for (size_t i = 0; i < summary.waits.size(); ++i) {
      json["waits"][std::string(to_string(kDeviceWaits[i]))] = summary.waits[i];
    }
  }
  fmt::print("{}\n", json.dump(2));
}

std::string describe_groups(const Workload& workload) {
  std::string text;
  for (const std::vector<uint32_t>& members : workload.groups) {
    if (text.size() > 48) return text + " ...";
    text += fmt::format("{}{{{}}}", text.empty() ? "" : " ", fmt::join(members, ","));
  }
  return text;
}

// "12 (synchronize 4, memory 5, default stream 2, first launch 1)"
std::string describe_waits(const Summary& summary) {
  uint64_t num = 0;
  std::string each;
  for (size_t i = 0; i < summary.waits.size(); ++i) {
    num += summary.waits[i];
    each += fmt::format("{}{} {}", each.empty() ? "" : ", ", to_string(kDeviceWaits[i]),
                        summary.waits[i]);
  }
  return fmt::format("{} ({})", num, each);
}

std::vector<std::string> time_row(const char* name, const OrderSummary& order, bool has_switches) {
  std::vector<std::string> row{name};
  for (const double us : order.round_us) row.push_back(format_ns(us * 1e3));
  row.push_back(fmt::format("{:.1f}", order.rounds_per_s));
  for (const double number : {order.switches, order.looks}) {
    row.push_back(has_switches ? fmt::format("{:.2f}", number) : "-");
  }
  return row;
}

// How much longer rounds are in any order.
std::vector<std::string> ratio_row(const OrderSummary& any, const OrderSummary& one) {
  std::vector<std::string> row{"ratio of the two"};
  const auto ratio = [](double a, double b) { return b > 0 ? fmt::format("{:.2f}", a / b) : "-"; };
  for (size_t i = 0; i < kShares.size(); ++i)
    row.push_back(ratio(any.round_us[i], one.round_us[i]));
  row.push_back(ratio(any.rounds_per_s, one.rounds_per_s));
  row.resize(7);
  return row;
}

}  // namespace

Result<Summary> summarise(Communicator& world, const Settings& settings, const RankTally& tally) {
  Summary summary;
  TUTTI_ASSIGN(summary.any, summarise_order(world, tally.any));
  TUTTI_ASSIGN(summary.one, summarise_order(world, tally.one));
  const Workload workload = make_workload(settings);
  for (const Task& task : workload.tasks) {
    summary.num_operations += workload.groups[task.group].size() * settings.rounds * 2;
  }
  summary.num_wrong = tally.num_wrong;
  TUTTI_TRY(world.all_reduce(std::span(&summary.num_wrong, 1)).wait());
  uint64_t most = tally.most_switches;
  TUTTI_TRY(world.all_reduce(std::span(&most, 1), {.op = Op::kMax}).wait());
  if (tally.has_switches) summary.most_switches = most;
  if (!settings.on_gpu) return summary;
  summary.waits = tally.waits;
  TUTTI_TRY(world.all_reduce(std::span<uint64_t>(summary.waits)).wait());
  return summary;
}

void print(const Summary& summary, const Settings& s, const Workload& workload) {
  if (s.json) return print_json(summary, s, workload);
  const bool has_switches = summary.most_switches.has_value();
  fmt::print("{} ranks ({}), pattern {}: {} collectives of up to {}, {} in flight, {} rounds\n",
             s.num_ranks, s.threads ? "threads" : "processes", to_string(s.pattern),
             s.num_collectives, format_bytes(s.max_bytes), s.in_flight, s.rounds);
  if (s.on_gpu) {
    fmt::print("on a GPU: {} streams a rank; waits for the whole device: {}\n", s.num_streams,
               describe_waits(summary));
  }
  fmt::print("groups: {}\n\n", describe_groups(workload));
  Table table({"time of a round", "p50", "p99", "p99.9", "rounds/s", "switches a collective",
               "looks in vain"});
  table.add(time_row("another order on each rank", summary.any, has_switches));
  table.add(time_row("one order for all", summary.one, has_switches));
  table.add(ratio_row(summary.any, summary.one));
  table.print(stdout);
  if (has_switches) fmt::print("at most {} switches of one collective\n", *summary.most_switches);
  const bool is_right = summary.num_wrong == 0;
  fmt::print(
      "\n{} {} operations of all ranks completed, {}\n",
      paint(stdout, is_right ? Colour::kGood : Colour::kBad, is_right ? "right:" : "WRONG:"),
      summary.num_operations,
      is_right ? "every element exact" : fmt::format("{} elements wrong", summary.num_wrong));
  fmt::print("again: {}\n", replay_of(s));
}

}  // namespace tutti::tools::chaos
