// All algorithms of a collective side by side: what each costs at one size, and how the times go
// with the size.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/try.h"
#include "plan/algorithm.h"
#include "sim/simulate.h"
#include "tools/view/answers.h"
#include "tools/view/conditions.h"
#include "trace/trace.h"
#include "verify/history.h"

namespace tutti::view {
namespace {

// Of one schedule: the simulator does a million a second, once for a table, often for a sweep.
constexpr uint64_t kMostStepsInTable = 300'000;
constexpr uint64_t kMostStepsInSweep = 100'000;
constexpr uint64_t kSmallestSize = 64;
constexpr uint64_t kLargestSize = uint64_t{1} << 30;
constexpr uint64_t kSizeFactor = 4;

struct Contender {
  std::string name;
  std::vector<ir::Schedule> variants;
  std::string left_out;  // why it has no figures
};

// In a table an algorithm is one schedule, in a sweep the best of several.
using Maker = Result<std::vector<ir::Schedule>> (*)(const Shelf&, const Question&);

Result<std::vector<ir::Schedule>> just_one(const Shelf& shelf, const Question& question) {
  std::vector<ir::Schedule> variants(1);
  TUTTI_ASSIGN(variants[0], schedule_of(shelf, question));
  return variants;
}

// The algorithms of the question's collective; for a file, that schedule alone.
Result<std::vector<Contender>> contenders_of(const Shelf& shelf, const Question& question,
                                             Maker maker, uint64_t most_steps) {
  std::vector<Contender> contenders;
  if (question.parameters.contains("file")) {
    TUTTI_ASSIGN(std::vector<ir::Schedule> variants, maker(shelf, question));
    const std::string name = variants[0].name;
    contenders.push_back({name, std::move(variants), ""});
    return contenders;
  }
  for (const plan::Algorithm& algorithm : all_algorithms()) {
    if (to_string(algorithm.kind) != text_of(question, "collective", "all_reduce")) continue;
    Question one = question;
    // Options are those of the algorithm that is looked at; the others take their own choice.
    const bool is_chosen = algorithm.name == text_of(question, "algorithm");
    for (const char* option : {"chunks", "radix", "group_size"}) {
      if (!is_chosen) one.parameters.erase(option);
    }
    one.parameters["algorithm"] = algorithm.name;
    auto made = maker(shelf, one);
    Contender contender{std::string(algorithm.name), {}, ""};
    if (!made) {
      contender.left_out = made.error().message;
    } else if (ir::num_steps(made->back()) > most_steps) {
      contender.left_out =
          fmt::format("{} steps are too many to simulate while you wait; tutti sim does it",
                      ir::num_steps(made->back()));
    } else {
      contender.variants = *std::move(made);
    }
    contenders.push_back(std::move(contender));
  }
  if (contenders.empty()) {
    return Error{ErrorCode::kInvalidArgument, "there is no such collective"};
  }
  return contenders;
}

uint32_t ranks_of(const std::vector<Contender>& contenders) {
  for (const Contender& contender : contenders) {
    if (contender.left_out.empty()) return contender.variants[0].collective.num_ranks;
  }
  return 1;
}

struct Traffic {
  std::vector<double> sent;  // bytes, by rank
  double reduced = 0;        // bytes of results of reductions, on all ranks
};

Traffic traffic_of(const trace::Trace& trace, uint32_t num_ranks) {
  Traffic traffic{std::vector<double>(num_ranks), 0};
  for (const trace::Event& event : trace.events) {
    const auto bytes = static_cast<double>(event.bytes);
    if (event.kind == trace::EventKind::kMessage) traffic.sent[event.rank] += bytes;
    if (event.kind == trace::EventKind::kStep && ir::reduces(static_cast<ir::StepKind>(event.op))) {
      traffic.reduced += bytes;
    }
  }
  return traffic;
}

Result<ordered_json> cost_of(const Contender& contender, const topo::Topology& topology,
                             sim::Options options) {
  trace::Trace trace;
  options.trace = &trace;
  const ir::Schedule& schedule = contender.variants[0];
  TUTTI_ASSIGN(const sim::Report report, sim::simulate(schedule, topology, options));
  TUTTI_ASSIGN(const uint32_t num_rounds, verify::count_rounds(schedule));
  const uint32_t num_ranks = schedule.collective.num_ranks;
  const Traffic traffic = traffic_of(trace, num_ranks);
  double all = 0;
  for (double sent : traffic.sent) all += sent;
  return ordered_json{{"algorithm", contender.name},
                      {"rounds", num_rounds},
                      {"steps", report.num_steps},
                      {"messages", report.num_messages},
                      {"max_sent", *std::max_element(traffic.sent.begin(), traffic.sent.end())},
                      {"mean_sent", all / num_ranks},
                      {"reduced", traffic.reduced},
                      {"time_ns", report.total_ns},
                      {"bound_ns", report.bound.ns()},
                      {"bound_kind", sim::to_string(report.bound.kind())},
                      {"ratio", report.ratio}};
}

// The best reports at all sizes.
Result<std::vector<sim::Report>> reports_of(const std::vector<ir::Schedule>& variants,
                                            const topo::Topology& topology, sim::Options options,
                                            const std::vector<uint64_t>& sizes) {
  std::vector<sim::Report> reports;
  for (uint64_t size : sizes) {
    options.bytes = size;
    std::optional<sim::Report> best;
    for (const ir::Schedule& variant : variants) {
      TUTTI_ASSIGN(sim::Report report, sim::simulate(variant, topology, options));
      if (!best || report.total_ns < best->total_ns) best = std::move(report);
    }
    reports.push_back(*std::move(best));
  }
  return reports;
}

std::vector<uint64_t> sweep_sizes() {
  std::vector<uint64_t> sizes;
  for (uint64_t size = kSmallestSize; size <= kLargestSize; size *= kSizeFactor) {
    sizes.push_back(size);
  }
  return sizes;
}

size_t fastest(const std::vector<std::vector<double>>& times, size_t size_index) {
  size_t best = 0;
  for (size_t i = 1; i < times.size(); ++i) {
    if (times[i][size_index] < times[best][size_index]) best = i;
  }
  return best;
}

// Where two lines cross between two sizes, on the logarithmic paper of the chart.
double crossing(const std::vector<double>& a, const std::vector<double>& b, size_t i,
                const std::vector<uint64_t>& sizes) {
  const double before = std::log(std::max(b[i], 1e-9) / std::max(a[i], 1e-9));
  const double after = std::log(std::max(a[i + 1], 1e-9) / std::max(b[i + 1], 1e-9));
  const double part = before + after > 0 ? before / (before + after) : 0.5;
  const auto from = static_cast<double>(sizes[i]);
  return from * std::pow(static_cast<double>(sizes[i + 1]) / from, part);
}

ordered_json crossovers(const std::vector<std::vector<double>>& times,
                        const std::vector<std::string>& names, const std::vector<uint64_t>& sizes) {
  ordered_json json = ordered_json::array();
  for (size_t i = 0; !times.empty() && i + 1 < sizes.size(); ++i) {
    const size_t before = fastest(times, i);
    const size_t after = fastest(times, i + 1);
    if (before == after) continue;
    json.push_back({{"bytes", crossing(times[before], times[after], i, sizes)},
                    {"from", names[before]},
                    {"to", names[after]}});
  }
  return json;
}

}  // namespace

Result<ordered_json> answer_costs(const Shelf& shelf, const Question& question) {
  TUTTI_ASSIGN(const auto contenders, contenders_of(shelf, question, just_one, kMostStepsInTable));
  const uint32_t num_ranks = ranks_of(contenders);
  TUTTI_ASSIGN(const topo::Topology topology, machine_of(shelf, question, num_ranks));
  TUTTI_ASSIGN(const sim::Options options, conditions_of(question, num_ranks));
  ordered_json json{{"schema", kSchemaVersion}, {"rows", ordered_json::array()}};
  for (const Contender& contender : contenders) {
    std::string left_out = contender.left_out;
    if (left_out.empty()) {
      auto cost = cost_of(contender, topology, options);
      if (cost) {
        json["rows"].push_back(*std::move(cost));
        continue;
      }
      left_out = cost.error().message;
    }
    json["rows"].push_back({{"algorithm", contender.name}, {"left_out", left_out}});
  }
  return json;
}

Result<ordered_json> answer_sweep(const Shelf& shelf, const Question& question) {
  TUTTI_ASSIGN(const auto contenders,
               contenders_of(shelf, question, variants_of, kMostStepsInSweep));
  const uint32_t num_ranks = ranks_of(contenders);
  TUTTI_ASSIGN(const topo::Topology topology, machine_of(shelf, question, num_ranks));
  TUTTI_ASSIGN(sim::Options options, conditions_of(question, num_ranks));
  options.with_critical_path = false;
  const std::vector<uint64_t> sizes = sweep_sizes();
  std::vector<std::string> names;
  std::vector<std::vector<double>> times;
  std::vector<double> bounds(sizes.size());
  ordered_json left_out = ordered_json::array();
  for (const Contender& contender : contenders) {
    std::vector<double> row;
    std::string why = contender.left_out;
    if (why.empty()) {
      const auto reports = reports_of(contender.variants, topology, options, sizes);
      if (!reports) why = reports.error().message;
      for (size_t i = 0; reports && i < sizes.size(); ++i) {
        row.push_back((*reports)[i].total_ns);
        if (options.with_bound) bounds[i] = (*reports)[i].bound.ns();
      }
      // The bound is of the collective and the machine: one algorithm's is everyone's.
      if (reports) options.with_bound = false;
    }
    if (why.empty()) {
      names.push_back(contender.name);
      times.push_back(std::move(row));
    } else {
      left_out.push_back({{"algorithm", contender.name}, {"why", why}});
    }
  }
  ordered_json lines = ordered_json::array();
  for (size_t i = 0; i < names.size(); ++i) {
    lines.push_back({{"algorithm", names[i]}, {"ns", times[i]}});
  }
  return ordered_json{{"schema", kSchemaVersion},
                      {"sizes", sizes},
                      {"lines", std::move(lines)},
                      {"bound_ns", bounds},
                      {"crossovers", crossovers(times, names, sizes)},
                      {"left_out", std::move(left_out)}};
}

}  // namespace tutti::view
