// A schedule on a machine: the simulator's report, what happened when, and the use of links in
// time.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/try.h"
#include "sim/simulate.h"
#include "tools/view/answers.h"
#include "tools/view/conditions.h"
#include "topo/router.h"
#include "trace/trace.h"

namespace tutti::view {
namespace {

constexpr size_t kNumBins = 60;
constexpr size_t kMostLinks = 4'000;

double ns_of(int64_t ticks, const trace::Trace& trace) {
  return static_cast<double>(ticks) / trace.ticks_per_ns;
}

ordered_json topology_json(const topo::Topology& topology) {
  ordered_json json{{"name", topology.name}};
  json["nodes"] = ordered_json::array();
  for (const topo::Node& node : topology.nodes) {
    json["nodes"].push_back(
        {{"name", node.name}, {"kind", topo::to_string(node.kind)}, {"machine", node.machine}});
  }
  json["links"] = ordered_json::array();
  for (const topo::Link& link : topology.links) {
    json["links"].push_back({{"from", link.from.value},
                             {"to", link.to.value},
                             {"class", topo::to_string(link.link_class)},
                             {"gbps", link.gbps},
                             {"latency_ns", link.latency_ns}});
  }
  json["ranks"] = ordered_json::array();
  for (topo::NodeId node : topology.ranks) json["ranks"].push_back(node.value);
  return json;
}

ordered_json report_of(const sim::Report& report) {
  ordered_json json{{"time_ns", report.total_ns},
                    {"bound_ns", report.bound.ns()},
                    {"bound_kind", sim::to_string(report.bound.kind())},
                    {"ratio", report.ratio},
                    {"messages", report.num_messages},
                    {"message_bytes", report.message_bytes},
                    {"rank_finish_ns", report.rank_finish_ns},
                    {"rank_wait_ns", report.rank_wait_ns}};
  json["links"] = ordered_json::array();
  for (const sim::LinkUse& use : report.links) {
    json["links"].push_back(
        {{"bytes", use.bytes}, {"busy_ns", use.busy_ns}, {"utilisation", use.utilisation}});
  }
  json["waits"] = ordered_json::array();
  for (const sim::Wait& wait : report.waits) {
    json["waits"].push_back({{"rank", wait.rank.value}, {"on", wait.on.value}, {"ns", wait.ns}});
  }
  std::map<std::string_view, double> path;
  for (const sim::Slice& slice : report.critical_path) {
    path[sim::to_string(slice.kind)] += slice.end_ns - slice.begin_ns;
  }
  json["critical_path"] = path;
  return json;
}

// Of each message, when its bytes moved: not before its taker began to take it.
using Place = std::tuple<uint32_t, uint32_t, uint32_t>;  // rank, lane, step
std::map<Place, int64_t> step_begins(const trace::Trace& trace) {
  std::map<Place, int64_t> begins;
  for (const trace::Event& event : trace.events) {
    if (event.kind == trace::EventKind::kStep) {
      begins[{event.rank, event.lane, event.step}] = event.begin;
    }
  }
  return begins;
}

// Bytes that each link carried in each of kNumBins equal parts of the time. A message's bytes are
// spread evenly over the time in which it moved, without its latency.
Result<ordered_json> bins_json(const topo::Topology& topology, const trace::Trace& trace,
                               double total_ns) {
  topo::Router router(topology);
  const auto begins = step_begins(trace);
  std::map<uint32_t, std::vector<double>> bins;
  const double width = total_ns / kNumBins;
  for (const trace::Event& event : trace.events) {
    if (event.kind != trace::EventKind::kMessage || event.bytes == 0 || width <= 0) continue;
    TUTTI_ASSIGN(const auto route, router.route(Rank{event.rank}, Rank{event.peer}));
    double latency = 0;
    for (topo::LinkId link : route) latency += topology.links[link.value].latency_ns;
    const auto taken = begins.find({event.peer, event.peer_lane, event.peer_step});
    const int64_t handed =
        taken == begins.end() ? event.begin : std::max(event.begin, taken->second);
    const double end = ns_of(event.end, trace);
    const double begin = std::min(ns_of(handed, trace) + latency, end - 1e-3);
    for (size_t i = 0; i < kNumBins; ++i) {
      const double from = std::max(begin, static_cast<double>(i) * width);
      const double to = std::min(end, static_cast<double>(i + 1) * width);
      if (to <= from) continue;
      const double bytes = static_cast<double>(event.bytes) * (to - from) / (end - begin);
      for (topo::LinkId link : route) {
        auto& row = bins.try_emplace(link.value, std::vector<double>(kNumBins)).first->second;
        row[i] += bytes;
      }
    }
  }
  ordered_json json{{"count", kNumBins}, {"ns", width}, {"links", ordered_json::array()}};
  for (const auto& [link, row] : bins) json["links"].push_back({{"link", link}, {"bytes", row}});
  return json;
}

}  // namespace

Result<ordered_json> answer_simulation(const Shelf& shelf, const Question& question) {
  TUTTI_ASSIGN(const ir::Schedule schedule, schedule_of(shelf, question));
  TUTTI_ASSIGN(const topo::Topology topology,
               machine_of(shelf, question, schedule.collective.num_ranks));
  TUTTI_ASSIGN(sim::Options options, conditions_of(question, schedule.collective.num_ranks));
  trace::Trace trace;
  options.trace = &trace;
  TUTTI_ASSIGN(const sim::Report report, sim::simulate(schedule, topology, options));
  if (topology.links.size() > kMostLinks) {
    return Error{ErrorCode::kUnsupported,
                 topology.name + " has more links than a page can show; use tutti sim"};
  }
  ordered_json json{{"schema", kSchemaVersion},
                    {"bytes", options.bytes},
                    {"topology", topology_json(topology)},
                    {"report", report_of(report)}};
  json["num_events"] = trace.events.size();
  json["events"] = events_json(trace, 0);
  TUTTI_ASSIGN(json["bins"], bins_json(topology, trace, report.total_ns));
  return json;
}

}  // namespace tutti::view
