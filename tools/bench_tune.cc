#include "tools/bench_tune.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/invalid.h"
#include "base/try.h"
#include "comm/job.h"
#include "comm/tuning_file.h"
#include "tools/exit_code.h"
#include "tools/terminal.h"
#include "tutti/version.h"

namespace tutti::tools {
namespace {

namespace fs = std::filesystem;

// The table that the rules go into: what is there already, if it is of this machine.
Result<comm::TuningTable> open_table(const std::string& path) {
  if (path.empty()) {
    return invalid("there is no home folder to keep the table in; name a file with --out");
  }
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) {
    return Error{ErrorCode::kIo,
                 fmt::format("cannot make {}: {}", folder.string(), error.message())};
  }
  comm::TuningTable table;
  table.machine = comm::this_machine();
  if (!fs::exists(path, error)) return table;
  Result<comm::TuningTable> found = comm::read_tuning(path);
  if (!found) {
    return Error{found.error().code,
                 fmt::format("nothing can be added to this table: {}; remove it, or name another "
                             "file with --out",
                             found.error().message)};
  }
  const comm::TuningTable& old = *found;
  if (old.machine == table.machine) return found;
  return invalid(fmt::format(
      "{} was measured on {} with {} cores, and this is {} with {}; remove it, "
      "or name another file with --out",
      path, old.machine.cpu, old.machine.cores, table.machine.cpu, table.machine.cores));
}

void print_rule(const comm::TuningRule& rule) {
  const Collective collective{rule.kind, rule.num_ranks, 0, 0};
  const std::string usual = to_string(comm::choose_algorithm(collective, rule.measured_bytes));
  fmt::print("{:<15}{:>10}  {:>10}  {:<28}{:>10}  {}\n", to_string(rule.kind),
             format_bytes(rule.measured_bytes), format_ns(rule.default_us * 1e3), usual,
             rule.choice ? format_ns(rule.us * 1e3) : "",
             rule.choice ? to_string(*rule.choice) : "");
  std::fflush(stdout);
}

class TuneRank {
 public:
  TuneRank(std::shared_ptr<comm::Group> world, perf::TuneOptions options, std::string path)
      : world_(std::move(world)), options_(std::move(options)), path_(std::move(path)) {}

  Result<int> run() {
    Result<comm::TuningTable> table = comm::TuningTable();
    if (speaks()) table = open_table(path_);
    // The others need not measure what cannot be kept.
    TUTTI_ASSIGN(const bool all_ready, are_all(table.ok()));
    if (!table) return std::move(table.error());
    if (!all_ready) return kBadUse;
    if (speaks()) print_head(table->machine);
    TUTTI_ASSIGN(const auto rules, perf::tune(world_, options_, [&](const comm::TuningRule& rule) {
                   if (speaks()) print_rule(rule);
                 }));
    if (!speaks()) return kYes;
    perf::put_rules(*table, rules);
    TUTTI_TRY(base::write_file(path_, to_json(*table)));
    print_end(rules);
    return kYes;
  }

 private:
  [[nodiscard]] bool speaks() const { return world_->self().value == 0; }

  Result<bool> are_all(bool here) {
    uint32_t flag = here ? 1 : 0;
    // Liveness: all ranks come here; one that is lost ends it.
    TUTTI_TRY(Communicator(world_).all_reduce(std::span(&flag, 1), {.op = Op::kMin}).wait());
    return flag == 1;
  }

  void print_head(const comm::TuningMachine& machine) const {
    fmt::print("# tutti {}: {} ranks on {} with {} cores, {:g} s at most\n", version(),
               world_->num_ranks(), machine.cpu, machine.cores, options_.seconds);
    fmt::print("# {:<13}{:>10}  {:>10}  {:<28}{:>10}  {}\n", "collective", "size", "built-in", "",
               "faster", "");
    std::fflush(stdout);
  }

  void print_end(const std::vector<comm::TuningRule>& rules) const {
    size_t faster = 0;
    for (const comm::TuningRule& rule : rules) faster += rule.choice ? 1 : 0;
    const size_t wanted = perf::cells(options_, world_->num_ranks()).size();
    fmt::print("# measured {} of {} sizes; {} have a faster algorithm\n", rules.size(), wanted,
               faster);
    if (rules.size() < wanted) fmt::print("# the time was up; --for gives more\n");
    fmt::print("# wrote {}\n", path_);
  }

  std::shared_ptr<comm::Group> world_;
  perf::TuneOptions options_;
  std::string path_;
};

}  // namespace

int tune_rank(const TuneArguments& arguments, perf::TuneOptions options) {
  options.seconds = arguments.seconds;
  const std::string path = arguments.out.empty() ? comm::user_tuning_path() : arguments.out;
  // A table that is out of date, or wrong, must not stand in the way of a new one.
  setenv(comm::kTuningVariable, "none", 1);
  auto world = comm::join_job();
  if (!world) return fail(world.error());
  const Result<int> code = TuneRank(*std::move(world), std::move(options), path).run();
  return code ? *code : fail(code.error());
}

}  // namespace tutti::tools
