// The program `tutti`: parses the command line, runs one verb, turns its answer into an exit code.
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "tools/terminal.h"
#include "tools/verb.h"
#include "tutti/version.h"

namespace tutti::tools {
namespace {

constexpr const char* kFooter = R"(Examples:
  tutti plan all_reduce --ranks 7 --algo ring -o r.json
  tutti verify r.json
  tutti sim r.json --topo dgx-1v --bytes 64M
  tutti plan all_reduce --topo dgx-1v --bytes 64M > best.json    (--algo auto)
  tutti plan broadcast --ranks 8 --algo binomial | tutti convert - --to msccl-xml
  tutti run -n 4 -- ./my_program

Exit codes: 0 success, 1 a negative answer (refuted), 2 bad use or a malformed file; run has its
program's.)";

// The parser itself would only say that a subcommand is required.
bool names_unknown_verb(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return false;
  std::string verbs;
  for (const CLI::App* verb : app.get_subcommands({})) {
    if (verb->get_name() == argv[1]) return false;
    verbs += (verbs.empty() ? "" : ", ") + verb->get_name();
  }
  print_error("there is no verb '" + std::string(argv[1]) + "'; there are: " + verbs);
  return true;
}

// Cuts the command line at the mark.
ProgramCommand take_program(int& argc, char** argv) {
  ProgramCommand program;
  const bool is_run = argc >= 2 && std::string_view(argv[1]) == "run";
  for (int i = 2; is_run && i < argc; ++i) {
    if (std::string_view(argv[i]) != "--") continue;
    program = {true, {argv + i + 1, argv + argc}};
    argc = i;
  }
  return program;
}

int run(int argc, char** argv) {
  const ProgramCommand program = take_program(argc, argv);
  CLI::App app("tutti: plan, prove, time and exchange schedules of collectives; start ranks",
               "tutti");
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("tutti ") + version());
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  Action action;
  add_topo(app, action);
  add_plan(app, action);
  add_verify(app, action);
  add_sim(app, action);
  add_convert(app, action);
  add_run(app, action, program);
  add_bench(app, action);
  add_chaos(app, action);
  add_status(app, action);
  add_trace(app, action);
  add_view(app, action);
  add_completion(app, action);
  if (names_unknown_verb(app, argc, argv)) return kBadUse;
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wants_help) {
    return app.exit(wants_help);
  } catch (const CLI::ParseError& error) {
    print_error(error.what());
    std::fprintf(stderr, "Try: tutti --help, or tutti VERB --help\n");
    return kBadUse;
  }
  return action();
}

}  // namespace
}  // namespace tutti::tools

int main(int argc, char** argv) {
  // The command-line parser and the allocator may throw; our own code does not.
  try {
    return tutti::tools::run(argc, argv);
  } catch (const std::exception& error) {
    tutti::tools::print_error(error.what());
    return tutti::tools::kBadUse;
  }
}
