// tutti view [FILE...]: the page, served on this machine or written as one file.
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/try.h"
#include "tools/terminal.h"
#include "tools/verb.h"
#include "tools/view/page.h"
#include "tools/view/server.h"
#include "topo/open.h"

namespace tutti::tools {
namespace {

constexpr const char* kFooter =
    "Shows what a collective does: memory round by round, space and time, the machine, costs, and "
    "real\nruns. Files are schedules (tutti plan -o) or traces (tutti run --trace). Stop it with "
    "Ctrl-C.\n"
    "  tutti view\n"
    "  tutti view my.schedule.json --topo dgx-1v\n"
    "  tutti view traces/trace-*.jsonl\n"
    "  tutti view --export page.html --ranks 6";

// More than the second for which a browser's connection is kept open.
constexpr std::chrono::milliseconds kPatience{1300};

struct Arguments {
  std::vector<std::string> files;
  std::string topology;
  std::string out;
  std::optional<uint32_t> ranks;  // of an exported page
  bool no_browser = false;
};

Status fill_shelf(const Arguments& arguments, view::Shelf& shelf) {
  for (const std::string& file : arguments.files) {
    TUTTI_ASSIGN(const std::string text, base::read_file(file));
    TUTTI_TRY(shelf.add(file == "-" ? "stdin" : file, text));
  }
  if (arguments.topology.empty()) return {};
  TUTTI_ASSIGN(topo::Topology machine, topo::open(arguments.topology));
  shelf.set_machine(arguments.topology, std::move(machine));
  return {};
}

// A browser is opened where there is a desktop to open it on. Without one the address is enough.
void open_browser(const std::string& address) {
  const bool has_desktop =
      std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
  if (!has_desktop) return;
  std::string program = "xdg-open";
  std::string argument = address;
  char* const words[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  // Whether it worked shows on the screen; if not, the address is printed.
  static_cast<void>(posix_spawnp(&child, "xdg-open", nullptr, nullptr, words, environ));
}

// The threads of the server inherit the mask, so that only this one takes the signal.
sigset_t block_stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

Status serve(const Arguments& arguments, view::Shelf& shelf) {
  const sigset_t signals = block_stop_signals();
  TUTTI_ASSIGN(const auto server, view::Server::start(shelf));
  fmt::print("{}\n", server->address());
  std::fflush(stdout);
  fmt::print(stderr, "The page is at the address above, for you alone. Ctrl-C ends it.\n");
  if (!arguments.no_browser) open_browser(server->address());
  int signal = 0;
  // Liveness: until a person ends the program, which is what it is for.
  sigwait(&signals, &signal);
  // A second Ctrl-C ends it at once.
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  // An answer may take minutes, and nothing in it looks whether anybody still wants it: then the
  // signal does what it does to any program.
  if (!server->stop_within(kPatience)) raise(signal);
  return {};
}

Status view_it(const Arguments& arguments) {
  view::Shelf shelf;
  TUTTI_TRY(fill_shelf(arguments, shelf));
  if (arguments.out.empty()) return serve(arguments, shelf);
  view::ExportOptions options;
  // On a smaller machine the usual number of ranks would have no times.
  if (!arguments.topology.empty())
    options.ranks = std::min(options.ranks, shelf.machine().num_ranks());
  options.ranks = arguments.ranks.value_or(options.ranks);
  TUTTI_ASSIGN(const std::string page, view::exported_page(shelf, options));
  return base::write_file(arguments.out, page);
}

}  // namespace

void add_view(CLI::App& app, Action& action) {
  auto a = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("view", "Show collectives, schedules and traces on a page");
  verb->footer(kFooter);
  verb->add_option("FILE", a->files, "Schedules and traces to show");
  verb->add_option("--topo", a->topology, "A machine for the page; may be a file");
  verb->add_option("--export", a->out, "Write one HTML file that needs no server; - is stdout");
  verb->add_option("--ranks", a->ranks,
                   "How many ranks an exported page has; else 8, or those of a smaller --topo")
      ->check(CLI::Range(1, 64));
  verb->add_flag("--no-browser", a->no_browser, "Only print the address");
  verb->callback([a, &action] {
    action = [a] {
      const Status status = view_it(*a);
      return status ? static_cast<int>(kYes) : fail(status.error());
    };
  });
}

}  // namespace tutti::tools
