// tutti run -n N -- PROGRAM: starts N ranks of a program on this host.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/try.h"
#include "tools/launch/job.h"
#include "tools/launch/program_path.h"
#include "tools/launch/rank_environment.h"
#include "tools/terminal.h"
#include "tools/verb.h"
#include "topo/probe/probe.h"

namespace tutti::tools {
namespace {

struct Arguments {
  uint32_t num_ranks = 0;
  std::vector<std::string> environment;
  double grace_s = 2;
  double timeout_s = 0;
  std::string bind = "none";
  bool keep_going = false;
  bool no_prefix = false;
  std::string trace;
};

constexpr const char* kFooter = R"(Examples:
  tutti run -n 4 -- ./train --epochs 3
  tutti run -n 8 --env OMP_NUM_THREADS=1 --bind core -- ./solve
  tutti run -n 2 --timeout 60 -- sh -c 'echo I am $TUTTI_RANK of $TUTTI_NUM_RANKS'
  tutti run -n 4 --no-prefix -- ./report > table.csv

A rank finds in its environment
  TUTTI_RANK, TUTTI_NUM_RANKS    who it is, of how many; TUTTI_LOCAL_RANK is the same here
  TUTTI_JOB_DIR                  a directory for this job alone, removed at its end
  TUTTI_JOB_ID                   128 random bits, new for every run
Programs that use tutti read these themselves, and just as well what mpirun, srun and torchrun set.

Every line comes with its rank, whole. Rank 0 has this terminal's input, the others have none. When a
rank fails, the others have --grace seconds to end by themselves, then get SIGTERM, and after as long
again SIGKILL. Ctrl-C reaches all ranks; a second one kills them. What ranks leave running in their
process groups is ended with them.

Exit codes: that of the first rank to fail (128 + N if signal N killed it), 124 when --timeout is
over, 126 when the program cannot be run, 127 when there is none, 2 for bad use.)";

// The parser does not know of the program, which it never sees.
class Formatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* /*verb*/, std::string /*name*/) const override {
    return "Usage: tutti run -n N [OPTIONS] -- PROGRAM [ARGUMENTS]\n";
  }
};

// The mark `--` may be left out as long as no option of ours follows the program.
Result<std::vector<std::string>> command_from(std::vector<std::string> before_mark,
                                              const ProgramCommand& program) {
  if (!before_mark.empty() && before_mark.front().starts_with('-')) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("run has no option {}", before_mark.front())};
  }
  if (!before_mark.empty() && program.has_mark) before_mark.emplace_back("--");
  before_mark.insert(before_mark.end(), program.words.begin(), program.words.end());
  if (before_mark.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "which program? tutti run -n 4 -- PROGRAM [ARGUMENTS]"};
  }
  return before_mark;
}

Result<launch::Duration> duration_from(const char* option, double seconds) {
  constexpr double kMostSeconds = 1e9;
  if (!(seconds >= 0 && seconds <= kMostSeconds)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} {}: write seconds, such as 2 or 0.5", option, seconds)};
  }
  return std::chrono::duration_cast<launch::Duration>(std::chrono::duration<double>(seconds));
}

launch::Prefix prefix_for(std::FILE* stream, const Arguments& arguments) {
  if (arguments.no_prefix) return launch::Prefix::kNone;
  return shows_colours(stream) ? launch::Prefix::kColoured : launch::Prefix::kPlain;
}

Result<launch::JobOptions> options_from(const Arguments& arguments, bool has_timeout) {
  launch::JobOptions options;
  options.num_ranks = arguments.num_ranks;
  options.environment = arguments.environment;
  for (const std::string& change : arguments.environment) {
    TUTTI_TRY(launch::check_change(change));
  }
  if (!arguments.trace.empty()) {
    // A rank may go to another folder before it writes.
    std::error_code error;
    const std::string folder = std::filesystem::absolute(arguments.trace, error).string();
    options.environment.push_back("TUTTI_TRACE=" + (error ? arguments.trace : folder));
  }
  TUTTI_ASSIGN(options.grace, duration_from("--grace", arguments.grace_s));
  if (has_timeout) {
    TUTTI_ASSIGN(options.timeout, duration_from("--timeout", arguments.timeout_s));
  }
  options.keep_going = arguments.keep_going;
  if (arguments.bind == "core") options.cores = topo::usable_cores();
  options.out_prefix = prefix_for(stdout, arguments);
  options.err_prefix = prefix_for(stderr, arguments);
  return options;
}

int run(const Arguments& arguments, const CLI::App& verb, const ProgramCommand& program) {
  Result<std::vector<std::string>> command = command_from(verb.remaining(), program);
  if (!command) return fail(command.error());
  Result<launch::JobOptions> options = options_from(arguments, verb.count("--timeout") > 0);
  if (!options) return fail(options.error());
  options->command = *std::move(command);
  Result<std::string> path = launch::find_program(options->command.front());
  if (!path) {
    print_error(path.error().message);
    return launch::exit_code_of(path.error());
  }
  options->path = *std::move(path);
  const Result<int> code = launch::run_job(*options);
  return code ? *code : fail(code.error());
}

}  // namespace

void add_run(CLI::App& app, Action& action, const ProgramCommand& program) {
  auto a = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("run", "Start the ranks of a program on this host");
  verb->footer(kFooter);
  const auto formatter = std::make_shared<Formatter>();
  formatter->column_width(app.get_formatter()->get_column_width());
  verb->formatter(formatter);
  verb->prefix_command();
  verb->add_option("-n", a->num_ranks, "How many ranks; more than cores is fine")
      ->required()
      ->check(CLI::Range(uint32_t{1}, launch::kMaxRanks));
  verb->add_option("--env", a->environment, "NAME=VALUE for every rank; may be given repeatedly")
      ->allow_extra_args(false);
  verb->add_option("--bind", a->bind, "core: rank r runs on the r-th core it may use, only there")
      ->check(CLI::IsMember({"none", "core"}))
      ->capture_default_str();
  verb->add_option("--timeout", a->timeout_s, "End the job after so many seconds");
  verb->add_option("--grace", a->grace_s, "Seconds to end by oneself before SIGTERM, SIGKILL")
      ->capture_default_str();
  verb->add_option("--trace", a->trace, "A folder for a trace of every rank: see tutti trace");
  verb->add_flag("--keep-going", a->keep_going, "A failing rank does not end the others");
  verb->add_flag("--no-prefix", a->no_prefix, "Lines as they are, without their rank");
  verb->callback([a, verb, &program, &action] {
    action = [a, verb, &program] { return run(*a, *verb, program); };
  });
}

}  // namespace tutti::tools
