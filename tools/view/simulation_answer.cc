// A schedule on a machine: the simulator's report, what happened when, and the use of links in
// time.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/try.h"
#include "sim/simulate.h"
#include "tools/view/activity.h"
#include "tools/view/answers.h"
#include "tools/view/conditions.h"
#include "tools/view/time_window.h"
#include "topo/router.h"
#include "trace/trace.h"

namespace tutti::view {
namespace {

constexpr size_t kNumBins = 60;
constexpr size_t kMostLinks = 4'000;
constexpr size_t kMostRoutes = 4'096;

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
class StepBegins {
 public:
  explicit StepBegins(const trace::Trace& trace) {
    for (const trace::Event& event : trace.events) {
      if (event.kind != trace::EventKind::kStep) continue;
      begins_.emplace_back(Place{event.rank, event.lane, event.step}, event.begin);
    }
    std::sort(begins_.begin(), begins_.end());
  }
  // When the taker of the message began; `otherwise` if the trace does not have it.
  [[nodiscard]] int64_t taken(const trace::Event& message, int64_t otherwise) const {
    const Place place{message.peer, message.peer_lane, message.peer_step};
    const auto at = std::lower_bound(begins_.begin(), begins_.end(), std::pair(place, INT64_MIN));
    return at != begins_.end() && at->first == place ? at->second : otherwise;
  }

 private:
  std::vector<std::pair<Place, int64_t>> begins_;
};

// Bytes that each link carried in each of kNumBins equal parts of the time. A message's bytes are
// spread evenly over the time in which it moved, without its latency.
Result<ordered_json> bins_json(const topo::Topology& topology, const trace::Trace& trace,
                               double total_ns) {
  topo::Router router(topology);
  const StepBegins begins(trace);
  std::map<uint32_t, std::vector<double>> bins;
  const double width = total_ns / kNumBins;
  for (const trace::Event& event : trace.events) {
    if (event.kind != trace::EventKind::kMessage || event.bytes == 0 || width <= 0) continue;
    TUTTI_ASSIGN(const auto route, router.route(Rank{event.rank}, Rank{event.peer}));
    double latency = 0;
    for (topo::LinkId link : route) latency += topology.links[link.value].latency_ns;
    const int64_t handed = std::max(event.begin, begins.taken(event, event.begin));
    const double end = ns_of(event.end, trace);
    const double begin = std::min(ns_of(handed, trace) + latency, end - 1e-3);
    const auto first = static_cast<size_t>(std::max(0.0, begin / width));
    for (size_t i = first; i < kNumBins; ++i) {
      const double from = std::max(begin, static_cast<double>(i) * width);
      const double to = std::min(end, static_cast<double>(i + 1) * width);
      if (from >= end) break;
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

// The links between each pair of ranks that exchange messages: [from, to, [link, ...]]. None for
// more pairs than anybody could tell apart.
Result<ordered_json> routes_json(const topo::Topology& topology, const ir::Schedule& schedule) {
  std::set<std::pair<uint32_t, uint32_t>> pairs;
  for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
    for (const ir::Lane& lane : schedule.ranks[r].lanes) {
      for (const ir::Step& step : lane.steps) {
        if (ir::sends(step.kind)) pairs.insert({r, step.send_peer.value});
      }
    }
  }
  ordered_json json = ordered_json::array();
  if (pairs.size() > kMostRoutes) return json;
  topo::Router router(topology);
  for (const auto& [from, to] : pairs) {
    TUTTI_ASSIGN(const auto route, router.route(Rank{from}, Rank{to}));
    ordered_json links = ordered_json::array();
    for (topo::LinkId link : route) links.push_back(link.value);
    json.push_back({from, to, std::move(links)});
  }
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
  if (schedule.collective.num_ranks <= kMostLanes) {
    const WindowEvents drawn = events_in(trace, span_of(trace));
    json["window"] = {{"from_ns", 0}, {"until_ns", ns_of(drawn.window.end, trace)}};
    json["events"] = events_json(drawn, trace, 0);
  } else {
    json["activity"] = activity_json(trace, {0, span_of(trace).end});
  }
  TUTTI_ASSIGN(json["routes"], routes_json(topology, schedule));
  TUTTI_ASSIGN(json["bins"], bins_json(topology, trace, report.total_ns));
  return json;
}

}  // namespace tutti::view
