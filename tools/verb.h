// The verbs of the program. Each file tools/<verb>.cc adds its subcommand; main.cc runs the chosen
// one.
//
// Answers go to standard output, everything else (progress, notes, errors) to standard error, so
// that `tutti plan ... | tutti verify -` works. Exit codes are part of the interface.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tools/exit_code.h"  // IWYU pragma: export

namespace tutti::tools {

// What the chosen verb does once its arguments are parsed.
using Action = std::function<int()>;

// What follows the mark `--` on the command line of `run`: another program's words, kept from our
// parser, which would find meaning in some of them.
struct ProgramCommand {
  bool has_mark = false;
  std::vector<std::string> words;
};

void add_topo(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_sim(CLI::App& app, Action& action);
void add_convert(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action, const ProgramCommand& program);
void add_bench(CLI::App& app, Action& action);
void add_chaos(CLI::App& app, Action& action);
void add_status(CLI::App& app, Action& action);
void add_trace(CLI::App& app, Action& action);
void add_view(CLI::App& app, Action& action);
void add_completion(CLI::App& app, Action& action);

}  // namespace tutti::tools
