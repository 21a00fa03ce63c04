// tutti topo list / show / probe: the machines that tutti knows, one in detail, this one measured.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "tools/terminal.h"
#include "tools/topology_argument.h"
#include "tools/verb.h"
#include "topo/describe.h"
#include "topo/file.h"
#include "topo/machines.h"
#include "topo/probe/probe.h"

namespace tutti::tools {
namespace {

struct Arguments {
  TopologyArgument topology;
  std::string out;
  bool json = false;
};

int run_list(const Arguments& arguments) {
  if (arguments.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const topo::MachineEntry& machine : topo::machine_list()) {
      list.push_back({{"name", machine.name}, {"idea", machine.idea}});
    }
    fmt::print("{}\n", list.dump(2));
    return kYes;
  }
  for (const topo::MachineEntry& machine : topo::machine_list()) {
    fmt::print("{:<22} {}\n", machine.name, machine.idea);
  }
  fmt::print(
      "\nClusters: dgx-a100*4 is four of them behind one fat tree, rail:dgx-h100*4 has a rail\n"
      "switch for each NIC; docs/reference/topology.md has the grammar. A file name works too.\n");
  return kYes;
}

int run_show(const Arguments& arguments) {
  const Result<topo::Topology> topology = open_topology(arguments.topology);
  if (!topology) return fail(topology.error());
  fmt::print("{}", arguments.json ? topo::to_json(*topology) : topo::describe(*topology));
  return kYes;
}

int run_probe(const Arguments& arguments) {
  fmt::print(stderr, "Measuring each pair of cores; other work on this machine disturbs it.\n");
  const Result<topo::Topology> topology = topo::probe({});
  if (!topology) return fail(topology.error());
  if (!arguments.out.empty()) {
    const Status written = base::write_file(arguments.out, topo::to_json(*topology));
    if (!written) return fail(written.error());
  }
  if (arguments.json) {
    fmt::print("{}", topo::to_json(*topology));
    return kYes;
  }
  Table table({"cores", "alpha", "rate", "beta"});
  for (const topo::Link& link : topology->links) {
    if (link.from > link.to) continue;
    table.add({fmt::format("{} - {}", topology->nodes[link.from.value].name,
                           topology->nodes[link.to.value].name),
               format_ns(link.latency_ns), format_gbps(link.gbps),
               fmt::format("{:.4g} ns/B", 1 / link.gbps)});
  }
  table.print(stdout);
  return kYes;
}

}  // namespace

void add_topo(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("topo", "List, show and measure machines");
  verb->require_subcommand(1);

  auto list_arguments = std::make_shared<Arguments>();
  CLI::App* list = verb->add_subcommand("list", "The machines and shapes that have names");
  list->add_flag("--json", list_arguments->json, "Print JSON");
  list->callback([=, &action] { action = [=] { return run_list(*list_arguments); }; });

  auto show_arguments = std::make_shared<Arguments>();
  CLI::App* show = verb->add_subcommand("show", "One machine: devices, links, rates, routes");
  show->footer(
      "Reads tutti's JSON, NCCL's topology XML (NCCL_TOPO_DUMP_FILE) and the output of\n"
      "nvidia-smi topo -m. With --json it prints the file format, so it converts them too.");
  show->add_option("TOPOLOGY", show_arguments->topology.name,
                   "A machine's name or a file; 'host' is this machine")
      ->capture_default_str();
  show_arguments->topology.name = "host";
  show->add_option("--fail", show_arguments->topology.fail,
                   "A~B: the link between these nodes has failed; A~B=0.5: it has half its rate");
  add_ranks_option(*show, show_arguments->topology);
  show->add_flag("--json", show_arguments->json, "Print the topology file");
  show->callback([=, &action] { action = [=] { return run_show(*show_arguments); }; });

  auto probe_arguments = std::make_shared<Arguments>();
  CLI::App* probe =
      verb->add_subcommand("probe", "Measure alpha and beta between this host's cores");
  probe->footer("The file that -o writes is a topology: tutti sim r.json --topo FILE uses it.");
  probe->add_option("-o,--out", probe_arguments->out, "Write the measured topology to this file");
  probe->add_flag("--json", probe_arguments->json, "Print the topology file");
  probe->callback([=, &action] { action = [=] { return run_probe(*probe_arguments); }; });
}

}  // namespace tutti::tools
