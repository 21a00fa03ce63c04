#include "tools/sim_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/terminal.h"

namespace tutti::tools {
namespace {

using nlohmann::ordered_json;

constexpr size_t kLinksShown = 5;
constexpr size_t kWaitsShown = 3;

double gbps(const SimulationShown& shown) {
  if (shown.report.total_ns <= 0) return 0;
  return static_cast<double>(shown.bytes) / shown.report.total_ns;
}

std::string link_name(const topo::Topology& topology, size_t index) {
  const topo::Link& link = topology.links[index];
  return fmt::format("{} -> {}", topology.nodes[link.from.value].name,
                     topology.nodes[link.to.value].name);
}

// The links that carried something, busiest first.
std::vector<size_t> busiest_links(const sim::Report& report) {
  std::vector<size_t> order;
  for (size_t i = 0; i < report.links.size(); ++i) {
    if (report.links[i].bytes > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return report.links[a].utilisation > report.links[b].utilisation;
  });
  return order;
}

std::map<std::string_view, double> critical_path_by_kind(const sim::Report& report) {
  std::map<std::string_view, double> total;
  for (const sim::Slice& slice : report.critical_path) {
    total[sim::to_string(slice.kind)] += slice.end_ns - slice.begin_ns;
  }
  return total;
}

std::string bound_in_words(const SimulationShown& shown) {
  const sim::LowerBound& bound = shown.report.bound;
  switch (bound.kind()) {
    case sim::BoundKind::kNone: return "nothing need move";
    case sim::BoundKind::kLatency: return "latency between the farthest ranks";
    case sim::BoundKind::kBandwidth: break;
  }
  switch (bound.cut) {
    case sim::BoundCut::kNone: return "bandwidth";
    case sim::BoundCut::kDevice:
      return fmt::format("bandwidth of {} (rank {})",
                         shown.topology.device_of(Rank{bound.cut_index}).name, bound.cut_index);
    case sim::BoundCut::kAllDevices: return "bandwidth of all devices together";
    case sim::BoundCut::kMachine: return fmt::format("network of machine {}", bound.cut_index);
    case sim::BoundCut::kAllMachines: return "network of all machines together";
  }
  return "";
}

void print_links(const SimulationShown& shown) {
  const auto order = busiest_links(shown.report);
  if (order.empty()) return;
  fmt::print("\n");
  Table table({fmt::format("busiest links ({} of {} used)", std::min(kLinksShown, order.size()),
                           order.size()),
               "bytes", "busy", "utilisation"});
  for (size_t i = 0; i < std::min(kLinksShown, order.size()); ++i) {
    const sim::LinkUse& use = shown.report.links[order[i]];
    table.add({"  " + link_name(shown.topology, order[i]),
               format_bytes(static_cast<uint64_t>(use.bytes)), format_ns(use.busy_ns),
               fmt::format("{:.1f} %", 100 * use.utilisation)});
  }
  table.print(stdout);
}

void print_waits(const sim::Report& report) {
  if (report.waits.empty()) return;
  fmt::print("\n{}\n", paint(stdout, Colour::kBold, "who waits for whom"));
  for (size_t i = 0; i < std::min(kWaitsShown, report.waits.size()); ++i) {
    const sim::Wait& wait = report.waits[i];
    fmt::print("  rank {} waits {} for rank {}\n", wait.rank.value, format_ns(wait.ns),
               wait.on.value);
  }
}

}  // namespace

double bus_factor(const Collective& c) {
  const double p = c.num_ranks;
  switch (c.kind) {
    case CollectiveKind::kAllReduce: return 2 * (p - 1) / p;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter: return (p - 1) / p;
    case CollectiveKind::kReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kSendRecv: return 1;
    case CollectiveKind::kBarrier: return 0;
  }
  return 0;
}

void print_report(const SimulationShown& shown) {
  const sim::Report& report = shown.report;
  const Collective& c = shown.schedule.collective;
  fmt::print("{} {}, {} ranks, {} on {} ({})\n", to_string(c.kind),
             paint(stdout, Colour::kBold, shown.schedule.name), c.num_ranks,
             format_bytes(shown.bytes), shown.topology.name, shown.discipline);
  fmt::print("  time           {}", paint(stdout, Colour::kGood, format_ns(report.total_ns)));
  if (shown.bytes > 0 && c.kind != CollectiveKind::kBarrier) {
    fmt::print("   algbw {}, busbw {}", format_gbps(gbps(shown)),
               format_gbps(gbps(shown) * bus_factor(c)));
  }
  fmt::print("\n  lower bound    {}   {}\n", format_ns(report.bound.ns()), bound_in_words(shown));
  if (report.ratio > 0) fmt::print("  ratio to it    {:.3f}\n", report.ratio);
  fmt::print("  messages       {}, {} in all\n", report.num_messages,
             format_bytes(static_cast<uint64_t>(report.message_bytes)));
  fmt::print("  critical path  ");
  std::string separator;
  for (const auto& [kind, ns] : critical_path_by_kind(report)) {
    fmt::print("{}{} {} ({:.0f} %)", separator, kind, format_ns(ns), 100 * ns / report.total_ns);
    separator = ", ";
  }
  fmt::print("{}\n", separator.empty() ? "empty" : "");
  print_links(shown);
  print_waits(report);
}

std::string report_json(const SimulationShown& shown) {
  const sim::Report& report = shown.report;
  const Collective& c = shown.schedule.collective;
  ordered_json json{{"collective", to_string(c.kind)},
                    {"algorithm", shown.schedule.name},
                    {"ranks", c.num_ranks},
                    {"topology", shown.topology.name},
                    {"discipline", shown.discipline},
                    {"bytes", shown.bytes},
                    {"time_ns", report.total_ns},
                    {"algbw_gbps", gbps(shown)},
                    {"busbw_gbps", gbps(shown) * bus_factor(c)},
                    {"steps", report.num_steps},
                    {"messages", report.num_messages},
                    {"message_bytes", report.message_bytes}};
  json["lower_bound"] = {{"ns", report.bound.ns()},
                         {"latency_ns", report.bound.latency_ns},
                         {"bandwidth_ns", report.bound.bandwidth_ns},
                         {"kind", sim::to_string(report.bound.kind())},
                         {"cut", sim::to_string(report.bound.cut)},
                         {"cut_index", report.bound.cut_index}};
  json["ratio"] = report.ratio;
  json["rank_finish_ns"] = report.rank_finish_ns;
  json["rank_wait_ns"] = report.rank_wait_ns;
  json["links"] = ordered_json::array();
  for (size_t i : busiest_links(report)) {
    const topo::Link& link = shown.topology.links[i];
    json["links"].push_back({{"from", shown.topology.nodes[link.from.value].name},
                             {"to", shown.topology.nodes[link.to.value].name},
                             {"bytes", report.links[i].bytes},
                             {"busy_ns", report.links[i].busy_ns},
                             {"utilisation", report.links[i].utilisation}});
  }
  json["critical_path"] = ordered_json::array();
  for (const sim::Slice& slice : report.critical_path) {
    ordered_json entry{{"kind", sim::to_string(slice.kind)},
                       {"rank", slice.rank.value},
                       {"lane", slice.step.lane},
                       {"step", slice.step.step},
                       {"begin_ns", slice.begin_ns},
                       {"end_ns", slice.end_ns}};
    if (slice.peer != kNoRank) entry["peer"] = slice.peer.value;
    json["critical_path"].push_back(std::move(entry));
  }
  json["waits"] = ordered_json::array();
  for (const sim::Wait& wait : report.waits) {
    json["waits"].push_back({{"rank", wait.rank.value}, {"on", wait.on.value}, {"ns", wait.ns}});
  }
  return json.dump(2);
}

}  // namespace tutti::tools
