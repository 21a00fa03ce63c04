// tutti sim FILE --topo T --bytes B: how long a schedule takes on a machine, and why.
#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/try.h"
#include "comm/schedule_file.h"
#include "sim/simulate.h"
#include "tools/sim_report.h"
#include "tools/terminal.h"
#include "tools/topology_argument.h"
#include "tools/verb.h"
#include "trace/trace.h"
#include "verify/check.h"

namespace tutti::tools {
namespace {

struct Arguments {
  std::string file;
  TopologyArgument topology;
  std::string bytes = "1M";
  uint32_t elem_bytes = 1;
  std::vector<uint64_t> counts;
  bool slots = false;
  std::vector<std::string> skew;
  std::vector<std::string> slow;
  double step_overhead_ns = 0;
  std::string trace;
  std::string chrome;
  bool json = false;
};

// "3=2.5": a rank and a number.
Result<std::pair<Rank, double>> parse_rank_value(const std::string& text, const char* option) {
  const Error bad{ErrorCode::kInvalidArgument,
                  fmt::format("{} {}: write RANK=NUMBER, as in 3=2.5", option, text)};
  const size_t equals = text.find('=');
  if (equals == std::string::npos) return bad;
  uint32_t rank = 0;
  double value = 0;
  const char* begin = text.data();
  const auto first = std::from_chars(begin, begin + equals, rank);
  const auto second = std::from_chars(begin + equals + 1, begin + text.size(), value);
  const bool read = first.ec == std::errc() && first.ptr == begin + equals &&
                    second.ec == std::errc() && second.ptr == begin + text.size();
  if (!read) return bad;
  return std::pair{Rank{rank}, value};
}

Result<sim::Options> options_from(const Arguments& arguments) {
  sim::Options options;
  TUTTI_ASSIGN(options.bytes, parse_bytes(arguments.bytes));
  options.elem_bytes = arguments.elem_bytes;
  options.block_elems = arguments.counts;
  options.discipline = arguments.slots ? sim::Discipline::kSlots : sim::Discipline::kLending;
  options.step_overhead_ns = arguments.step_overhead_ns;
  for (const std::string& text : arguments.skew) {
    TUTTI_ASSIGN(const auto skew, parse_rank_value(text, "--skew"));
    options.start_skew.push_back({skew.first, skew.second});
  }
  for (const std::string& text : arguments.slow) {
    TUTTI_ASSIGN(const auto slow, parse_rank_value(text, "--slow"));
    options.slow_ranks.push_back({slow.first, slow.second});
  }
  return options;
}

// The size that bandwidths refer to: the whole row of blocks, whoever gave it.
uint64_t shown_bytes(const sim::Options& options) {
  if (options.block_elems.empty()) return options.bytes;
  uint64_t elems = 0;
  for (uint64_t count : options.block_elems) elems += count;
  return elems * options.elem_bytes;
}

Status write_traces(const Arguments& arguments, const trace::Trace& trace) {
  if (!arguments.trace.empty()) {
    TUTTI_TRY(base::write_file(arguments.trace, trace::to_json_lines(trace)));
  }
  if (!arguments.chrome.empty()) {
    TUTTI_TRY(base::write_file(arguments.chrome, trace::to_chrome(trace)));
  }
  return {};
}

Status simulate(const Arguments& arguments) {
  TUTTI_ASSIGN(ir::Schedule read, comm::read_schedule(arguments.file));
  TUTTI_ASSIGN(const verify::VerifiedSchedule proved, verify::check(std::move(read)).result());
  TUTTI_ASSIGN(const topo::Topology topology, open_topology(arguments.topology));
  TUTTI_ASSIGN(sim::Options options, options_from(arguments));
  trace::Trace trace;
  if (!arguments.trace.empty() || !arguments.chrome.empty()) options.trace = &trace;
  TUTTI_ASSIGN(const sim::Report report, sim::simulate(proved.schedule(), topology, options));
  TUTTI_TRY(write_traces(arguments, trace));
  const std::string discipline =
      arguments.slots ? fmt::format("{} slots", proved.schedule().slots) : "lending";
  const SimulationShown shown{proved.schedule(), topology, report, shown_bytes(options),
                              discipline};
  if (arguments.json) {
    fmt::print("{}\n", report_json(shown));
  } else {
    print_report(shown);
  }
  return {};
}

}  // namespace

void add_sim(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("sim", "Predict how long a schedule takes on a machine");
  verb->footer(
      "Proves the schedule first. Time, per-link use, critical path, waits, and the ratio to a\n"
      "lower bound that no schedule can beat. The model: docs/reference/simulator.md.\n"
      "  tutti sim r.json --topo dgx-1v --bytes 64M\n"
      "  tutti sim r.json --topo dgx-a100*2 --bytes 1G --slow 3=2 --chrome trace.json");
  verb->add_option("FILE", arguments->file, "A schedule (JSON or MSCCL XML); - reads stdin")
      ->required();
  add_topology_options(*verb, arguments->topology);
  verb->get_option("--topo")->required();
  add_ranks_option(*verb, arguments->topology);
  verb->add_option("--bytes", arguments->bytes, "Message size as nccl-tests counts it: 8, 64K, 1G")
      ->capture_default_str();
  verb->add_option("--elem-bytes", arguments->elem_bytes, "Bytes of an element")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  verb->add_option("--counts", arguments->counts,
                   "Elements of each block, for uneven blocks: 4,0,7; instead of --bytes")
      ->delimiter(',');
  verb->add_flag("--slots", arguments->slots,
                 "Eager sends into the schedule's slots, instead of lending");
  verb->add_option("--skew", arguments->skew, "RANK=NS: this rank starts so much later");
  verb->add_option("--slow", arguments->slow, "RANK=FACTOR: this rank is so many times slower");
  verb->add_option("--step-overhead", arguments->step_overhead_ns, "ns that each step costs")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--trace", arguments->trace, "Write what happened (docs/reference/trace.md)");
  verb->add_option("--chrome", arguments->chrome, "The same for Perfetto or chrome://tracing");
  verb->add_flag("--json", arguments->json, "Print the report as JSON");
  verb->callback([arguments, &action] {
    action = [arguments] {
      const Status status = simulate(*arguments);
      return status ? static_cast<int>(kYes) : fail(status.error());
    };
  });
}

}  // namespace tutti::tools
