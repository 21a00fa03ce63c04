// tutti completion bash: a completion script made from the program's own options, so that the two
// cannot drift apart. Values come from the library: algorithms, machines, collectives.
#include <fmt/format.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "plan/algorithm.h"
#include "plan/packed.h"
#include "tools/verb.h"
#include "topo/machines.h"
#include "tutti/collective.h"

namespace tutti::tools {
namespace {

std::string words_of(const CLI::App& verb) {
  std::vector<std::string> words;
  for (const CLI::App* sub : verb.get_subcommands({})) words.push_back(sub->get_name());
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    for (const std::string& name : option->get_snames()) words.push_back("-" + name);
  }
  return fmt::format("{}", fmt::join(words, " "));
}

std::string collective_names() {
  std::vector<std::string_view> names;
  for (int i = 0; i < kNumCollectiveKinds; ++i) {
    names.push_back(to_string(static_cast<CollectiveKind>(i)));
  }
  return fmt::format("{}", fmt::join(names, " "));
}

std::string algorithm_names() {
  std::set<std::string_view> names{"auto"};
  for (const plan::Algorithm& algorithm : plan::algorithms()) names.insert(algorithm.name);
  for (const plan::Algorithm& algorithm : plan::topology_algorithms()) {
    names.insert(algorithm.name);
  }
  return fmt::format("{}", fmt::join(names, " "));
}

// Shapes such as ring:N are left out: their size is the user's.
std::string machine_names() {
  std::vector<std::string_view> names;
  for (const topo::MachineEntry& machine : topo::machine_list()) {
    if (machine.name.find(':') == std::string_view::npos) names.push_back(machine.name);
  }
  return fmt::format("{}", fmt::join(names, " "));
}

void print_bash(const CLI::App& app) {
  fmt::print(
      "# bash completion for tutti; load it with: source <(tutti completion bash)\n"
      "_tutti() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  local words\n"
      "  case \"$previous\" in\n"
      "    --algo) words='{}' ;;\n"
      "    --topo|show) words='{}' ;;\n"
      "    --to) words='msccl-xml mscclpp-json json' ;;\n"
      "    plan) words='{}' ;;\n"
      "    --bind) words='none core' ;;\n"
      "    --) COMPREPLY=($(compgen -c -- \"$current\")); return ;;\n"
      "    "
      "-o|--out|--trace|--chrome|verify|sim|convert|trace|view|--export|-n|--env|--grace|--timeout)"
      " words= "
      ";;\n"
      "    *)\n"
      "      case \"${{COMP_WORDS[1]:-}}\" in\n",
      algorithm_names(), machine_names(), collective_names());
  for (const CLI::App* verb : app.get_subcommands({})) {
    fmt::print("        {}) words='{}' ;;\n", verb->get_name(), words_of(*verb));
  }
  fmt::print(
      "        *) words='{}' ;;\n"
      "      esac ;;\n"
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "}}\n"
      "complete -o default -F _tutti tutti\n",
      words_of(app));
}

}  // namespace

void add_completion(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("completion", "Print a shell completion script");
  verb->footer("source <(tutti completion bash)");
  auto shell = std::make_shared<std::string>();
  verb->add_option("SHELL", *shell, "bash")->required()->check(CLI::IsMember({"bash"}));
  // `shell` is kept alive by the callback; the option refers to it.
  verb->callback([&app, shell, &action] {
    action = [&app, shell] {
      print_bash(app);
      return kYes;
    };
  });
}

}  // namespace tutti::tools
