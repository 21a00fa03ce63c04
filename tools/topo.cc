// tutti topo list / show: the machines that tutti knows, and one of them in detail.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/terminal.h"
#include "tools/topology_argument.h"
#include "tools/verb.h"
#include "topo/describe.h"
#include "topo/file.h"
#include "topo/machines.h"

namespace tutti::tools {
namespace {

struct Arguments {
  TopologyArgument topology;
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

}  // namespace

void add_topo(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("topo", "List and show machines");
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
}

}  // namespace tutti::tools
