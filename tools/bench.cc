// tutti bench COLLECTIVE: how fast collectives are here, in the columns of nccl-tests; and with
// --tune, which algorithms are the fastest here.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/invalid.h"
#include "base/job_environment.h"
#include "base/try.h"
#include "comm/loaded_schedule.h"
#include "tools/bench_tune.h"
#include "tools/launch/job.h"
#include "tools/perf/measure.h"
#include "tools/terminal.h"
#include "tools/verb.h"
#include "tutti/version.h"

namespace tutti::tools {
namespace {

struct Arguments {
  std::string collective;
  std::vector<uint32_t> rank_counts;
  std::string min_bytes = "8";
  std::string max_bytes = "16M";
  uint64_t factor = 4;
  std::string type = "float";
  std::string op = "sum";
  perf::Subject subject;
  bool has_root = false;
  std::string schedule;  // a file; empty: tutti chooses
  std::string described;
  bool threads = false;
  bool tunes = false;
  TuneArguments tune;
};

struct Sweep {
  perf::Subject subject;
  std::string collective;
  std::string schedule;  // a file; empty: none
  std::string described;
  uint64_t min_bytes = 0;
  uint64_t max_bytes = 0;
  uint64_t factor = 2;
};

constexpr const char* kFooter = R"(Examples:
  tutti bench all_reduce -n 4
  tutti bench broadcast -n 2 -b 8 -e 64M -f 2 -d bfloat16
  tutti bench all_to_all -n 8 --threads
  tutti bench all_gather -n 4 -b 1M -e 256M --shared-memory
  tutti plan all_reduce --topo dgx-1v --bytes 16M -o s.json && tutti bench all_reduce --schedule s.json
  tutti bench --tune
  tutti bench --tune all_reduce -n 4,6 --for 30 --out node7.json

The output is that of nccl-tests: sizes are those of the whole message (of all ranks together where a
call gathers or scatters), time is the mean of calls one after the other on the slowest rank, GB is
10^9 bytes, #wrong counts elements that are not exactly what they must be.

With --schedule all calls follow the schedule in the file, which is proved first; it says how many ranks
there are and which is the root. The ranks are those of this host, whatever it was planned for.

With --tune every algorithm is measured beside the built-in choice, for every collective or the one
that is named, and what is faster by 5 % or more goes into a table that later jobs follow:
docs/reference/tuning.md. -n then takes several numbers of ranks, and is 2,4,8 when it is left out.

Exit codes: 0 all right, 1 something came out wrong, 2 bad use.)";

bool is_measurable(CollectiveKind kind) {
  return kind != CollectiveKind::kSendRecv && kind != CollectiveKind::kBarrier;
}

Result<Sweep> sweep_from(const Arguments& a) {
  Sweep sweep;
  sweep.subject = a.subject;
  const auto type = parse_data_type(a.type);
  const auto op = parse_op(a.op);
  if (!type || !op) {
    return invalid(
        fmt::format("there is no {} '{}'", type ? "operator" : "type", type ? a.op : a.type));
  }
  sweep.subject.type = *type;
  sweep.subject.op = *op;
  TUTTI_ASSIGN(sweep.min_bytes, parse_bytes(a.min_bytes));
  TUTTI_ASSIGN(sweep.max_bytes, parse_bytes(a.max_bytes));
  sweep.factor = a.factor;
  sweep.collective = a.collective;
  sweep.schedule = a.schedule;
  sweep.described = a.described;
  return sweep;
}

Result<CollectiveKind> kind_from(const Arguments& a) {
  const auto kind = parse_collective_kind(a.collective);
  if (kind && is_measurable(*kind)) return *kind;
  return invalid(
      fmt::format("cannot measure '{}'; take all_reduce, reduce, broadcast, all_gather, "
                  "reduce_scatter, all_to_all, gather or scatter",
                  a.collective));
}

// A schedule is for one collective, number of ranks and root: what was not said is taken from it,
// and what was must agree with it.
Status follow_schedule(Arguments& a) {
  if (a.schedule.empty()) return {};
  if (a.schedule == "-") return invalid("--schedule -: every rank reads it, so it must be a file");
  TUTTI_ASSIGN(const comm::LoadedSchedule loaded, comm::load_schedule(a.schedule, {}));
  const Collective& collective = loaded.schedule.schedule().collective;
  const std::string name(to_string(collective.kind));
  if (a.collective.empty()) a.collective = name;
  if (a.rank_counts.empty()) a.rank_counts = {collective.num_ranks};
  if (!a.has_root) a.subject.root = collective.root;
  if (a.collective != name) {
    return invalid(fmt::format("{} is not for {}", describe(loaded), a.collective));
  }
  if (a.rank_counts != std::vector{collective.num_ranks}) {
    return invalid(fmt::format("{} is not for {} ranks; leave -n out", describe(loaded),
                               fmt::join(a.rank_counts, ",")));
  }
  if (is_rooted(collective.kind) && a.subject.root != collective.root) {
    return invalid(fmt::format("{} is not for root {}", describe(loaded), a.subject.root));
  }
  a.described = describe(loaded);
  return {};
}

// One collective among so many ranks.
Status check_sweep(const Arguments& a, const Sweep& sweep) {
  if (a.rank_counts.size() != 1) {
    return invalid("several numbers of ranks are for --tune; take one with -n");
  }
  if (sweep.subject.root >= a.rank_counts[0]) {
    return invalid(fmt::format("root {} of {} ranks", sweep.subject.root, a.rank_counts[0]));
  }
  return {};
}

void print_head(const Communicator& comm, const Sweep& sweep) {
  fmt::print("# tutti {}\n", version());
  fmt::print("# Collective test starting: {}_perf\n", sweep.collective);
  if (!sweep.schedule.empty()) fmt::print("# Schedule: {}\n", sweep.described);
  fmt::print(
      "# nRanks {} minBytes {} maxBytes {} step: {}(factor) warmup iters: {} iters: {} "
      "validation: {}\n#\n",
      comm.num_ranks(), sweep.min_bytes, sweep.max_bytes, sweep.factor, sweep.subject.warmups,
      sweep.subject.iterations, sweep.subject.checks);
  fmt::print("# {:>61}{:>35}\n", "out-of-place", "in-place");
  fmt::print(
      "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  "
      "{:>6}\n",
      "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw",
      "busbw", "#wrong");
  fmt::print(
      "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}\n",
      "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)");
}

std::string number(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  return value < 99.95 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

// Runs on every rank; rank 0 prints. How many elements were wrong.
Result<uint64_t> run_sweep(Communicator comm, const Sweep& sweep) {
  const perf::Subject& s = sweep.subject;
  if (!sweep.schedule.empty()) {
    TUTTI_ASSIGN(comm, comm.with_schedule(sweep.schedule));
  }
  const bool speaks = comm.rank() == 0;
  if (speaks) print_head(comm, sweep);
  uint64_t wrong = 0;
  double bandwidths = 0;
  uint64_t rows = 0;
  for (uint64_t bytes = sweep.min_bytes; bytes <= sweep.max_bytes; bytes *= sweep.factor) {
    const uint64_t elems = perf::elems_for(s, comm.num_ranks(), bytes);
    const uint64_t size = elems * size_of(s.type);
    const uint64_t count = perf::splits_row(s.kind) ? elems / comm.num_ranks() : elems;
    std::string line =
        fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}", size, count, to_string(s.type),
                    is_reducing(s.kind) ? to_string(s.op) : "none",
                    is_rooted(s.kind) ? static_cast<int64_t>(s.root) : -1);
    for (const auto placing : {perf::Placing::kOutOfPlace, perf::Placing::kInPlace}) {
      if (placing == perf::Placing::kInPlace && s.kind == CollectiveKind::kAllToAll) {
        line += fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "N/A", "N/A", "N/A", "N/A");
        continue;
      }
      TUTTI_ASSIGN(const perf::Measured m, perf::measure(comm, s, elems, placing));
      const double algbw = static_cast<double>(size) / m.us / 1e3;
      const double busbw = algbw * perf::bus_factor(s.kind, comm.num_ranks());
      line += fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", number(m.us), number(algbw),
                          number(busbw), m.wrong);
      wrong += m.wrong;
      bandwidths += busbw;
      ++rows;
    }
    if (speaks) fmt::print("{}\n", line);
    if (speaks) std::fflush(stdout);
  }
  if (speaks) {
    fmt::print("# Out of bounds values : {} {}\n", wrong, wrong == 0 ? "OK" : "FAILED");
    fmt::print("# Avg bus bandwidth    : {:.4f}\n#\n", rows == 0 ? 0 : bandwidths / double(rows));
    fmt::print("# Collective test concluded: {}_perf\n", sweep.collective);
  }
  return wrong;
}

int finish(const Result<uint64_t>& wrong) {
  if (!wrong) return fail(wrong.error());
  return *wrong == 0 ? kYes : kNo;
}

int run_threads(const Arguments& a, const Sweep& sweep) {
  const uint32_t num_ranks = a.rank_counts[0];
  auto ranks = Communicator::threads(num_ranks);
  if (!ranks) return fail(ranks.error());
  std::vector<int> codes(num_ranks, kYes);
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < num_ranks; ++r) {
    threads.emplace_back([&, r] { codes[r] = finish(run_sweep((*ranks)[r], sweep)); });
  }
  for (std::thread& thread : threads) thread.join();
  return codes[0];
}

std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

// Starts this very command once a rank; for several numbers of ranks in turn.
int run_processes(const std::vector<uint32_t>& rank_counts) {
  for (const uint32_t num_ranks : rank_counts) {
    launch::JobOptions options;
    options.num_ranks = num_ranks;
    options.path = "/proc/self/exe";
    options.command = own_command();
    options.out_prefix = launch::Prefix::kNone;
    const Result<int> code = launch::run_job(options);
    if (!code) return fail(code.error());
    if (*code != kYes) return *code;
  }
  return kYes;
}

Result<perf::TuneOptions> tune_options(const Arguments& a, const Sweep& sweep) {
  perf::TuneOptions options;
  options.subject = sweep.subject;
  options.subject.root = 0;
  options.min_bytes = sweep.min_bytes;
  options.max_bytes = sweep.max_bytes;
  options.factor = sweep.factor;
  if (options.min_bytes > options.max_bytes) {
    return invalid(fmt::format("-b {} is more than -e {}", a.min_bytes, a.max_bytes));
  }
  if (a.collective.empty()) {
    for (int i = 0; i < kNumCollectiveKinds; ++i) {
      const auto kind = static_cast<CollectiveKind>(i);
      // A message has one algorithm.
      if (kind != CollectiveKind::kSendRecv) options.kinds.push_back(kind);
    }
    return options;
  }
  if (a.collective == to_string(CollectiveKind::kBarrier)) {
    options.kinds = {CollectiveKind::kBarrier};
    return options;
  }
  TUTTI_ASSIGN(const CollectiveKind kind, kind_from(a));
  options.kinds = {kind};
  return options;
}

int run_tune(const Arguments& a, const Sweep& sweep) {
  const auto options = tune_options(a, sweep);
  if (!options) return fail(options.error());
  const auto job = base::read_job_environment();
  if (!job) return fail(job.error());
  return *job ? tune_rank(a.tune, *options) : run_processes(a.rank_counts);
}

int run(Arguments a) {
  if (Status status = follow_schedule(a); !status) return fail(status.error());
  if (a.rank_counts.empty() && a.tunes) a.rank_counts = {2, 4, 8};
  if (a.rank_counts.empty()) a.rank_counts = {2};
  Result<Sweep> sweep = sweep_from(a);
  if (!sweep) return fail(sweep.error());
  if (a.tunes) return run_tune(a, *sweep);
  const auto kind = kind_from(a);
  if (!kind) return fail(kind.error());
  sweep->subject.kind = *kind;
  if (Status status = check_sweep(a, *sweep); !status) return fail(status.error());
  if (a.threads) return run_threads(a, *sweep);
  const auto job = base::read_job_environment();
  if (!job) return fail(job.error());
  if (!*job) return run_processes(a.rank_counts);
  Result<Communicator> comm = Communicator::from_environment();
  if (!comm) return fail(comm.error());
  return finish(run_sweep(*comm, *sweep));
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto a = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("bench", "Measure collectives here, as nccl-tests does");
  verb->footer(kFooter);
  verb->add_option("collective", a->collective, "all_reduce, broadcast, ...");
  verb->add_option("-n", a->rank_counts, "How many ranks [2]")
      ->check(CLI::Range(uint32_t{1}, launch::kMaxRanks))
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option("-b", a->min_bytes, "Smallest size: 8, 64K, 1M")->capture_default_str();
  verb->add_option("-e", a->max_bytes, "Largest size")->capture_default_str();
  verb->add_option("-f", a->factor, "From one size to the next")
      ->check(CLI::Range(uint64_t{2}, uint64_t{1} << 32))
      ->capture_default_str();
  verb->add_option("-d", a->type, "Type: float, half, bfloat16, int32, ...")->capture_default_str();
  verb->add_option("-o", a->op, "Operator: sum, prod, min, max, avg, ...")->capture_default_str();
  CLI::Option* const root = verb->add_option("-r", a->subject.root, "Root, of calls that have one")
                                ->capture_default_str();
  verb->add_option("-w", a->subject.warmups, "Calls before the clock starts")
      ->capture_default_str();
  verb->add_option("-i,--iters", a->subject.iterations, "Calls that are timed")
      ->check(CLI::Range(1u, 1u << 30))
      ->capture_default_str();
  verb->add_option("-c", a->subject.checks, "Calls whose result is checked")->capture_default_str();
  CLI::Option* const threads =
      verb->add_flag("--threads", a->threads, "Ranks are threads, not processes");
  verb->add_flag("--shared-memory", a->subject.shared_memory,
                 "Buffers from tutti::allocate, which other ranks read where they lie");
  CLI::Option* const tune =
      verb->add_flag("--tune", a->tunes, "Find the fastest algorithms and write them to a table")
          ->excludes(threads);
  verb->add_option("--schedule", a->schedule, "A file: calls follow this schedule")->excludes(tune);
  verb->add_option("--for", a->tune.seconds, "Of --tune: seconds for each number of ranks, at most")
      ->needs(tune)
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  verb->add_option("--out", a->tune.out, "Of --tune: the table's file [that of this user]")
      ->needs(tune);
  verb->callback([a, root, &action] {
    const bool is_said = !a->collective.empty() || a->tunes || !a->schedule.empty();
    if (!is_said) throw CLI::RequiredError("collective");
    a->has_root = root->count() > 0;
    action = [a] { return run(*a); };
  });
}

}  // namespace tutti::tools
