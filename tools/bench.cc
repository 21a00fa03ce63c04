// tutti bench COLLECTIVE: how fast collectives are here, in the columns of nccl-tests.
#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/job_environment.h"
#include "base/try.h"
#include "tools/launch/job.h"
#include "tools/perf/measure.h"
#include "tools/terminal.h"
#include "tools/verb.h"
#include "tutti/version.h"

namespace tutti::tools {
namespace {

struct Arguments {
  std::string collective;
  uint32_t num_ranks = 2;
  std::string min_bytes = "8";
  std::string max_bytes = "16M";
  uint64_t factor = 4;
  std::string type = "float";
  std::string op = "sum";
  perf::Subject subject;
  bool threads = false;
};

struct Sweep {
  perf::Subject subject;
  uint64_t min_bytes = 0;
  uint64_t max_bytes = 0;
  uint64_t factor = 2;
};

constexpr const char* kFooter = R"(Examples:
  tutti bench all_reduce -n 4
  tutti bench broadcast -n 2 -b 8 -e 64M -f 2 -d bfloat16
  tutti bench all_to_all -n 8 --threads
  tutti bench all_gather -n 4 -b 1M -e 256M --shared-memory

The output is that of nccl-tests: sizes are those of the whole message (of all ranks together where a
call gathers or scatters), time is the mean of calls one after the other on the slowest rank, GB is
10^9 bytes, #wrong counts elements that are not exactly what they must be.

Exit codes: 0 all right, 1 something came out wrong, 2 bad use.)";

Result<Sweep> sweep_from(const Arguments& a) {
  Sweep sweep;
  sweep.subject = a.subject;
  const auto kind = parse_collective_kind(a.collective);
  const bool measurable = kind && *kind != CollectiveKind::kSendRecv;
  if (!measurable || *kind == CollectiveKind::kBarrier) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("cannot measure '{}'; take all_reduce, reduce, broadcast, all_gather, "
                             "reduce_scatter, all_to_all, gather or scatter",
                             a.collective)};
  }
  const auto type = parse_data_type(a.type);
  const auto op = parse_op(a.op);
  if (!type || !op) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("there is no {} '{}'", type ? "operator" : "type", type ? a.op : a.type)};
  }
  sweep.subject.kind = *kind;
  sweep.subject.type = *type;
  sweep.subject.op = *op;
  TUTTI_ASSIGN(sweep.min_bytes, parse_bytes(a.min_bytes));
  TUTTI_ASSIGN(sweep.max_bytes, parse_bytes(a.max_bytes));
  sweep.factor = a.factor;
  if (sweep.subject.root >= a.num_ranks) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("root {} of {} ranks", sweep.subject.root, a.num_ranks)};
  }
  return sweep;
}

void print_head(const Communicator& comm, const Sweep& sweep, const std::string& name) {
  fmt::print("# tutti {}\n", version());
  fmt::print("# Collective test starting: {}_perf\n", name);
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
Result<uint64_t> run_sweep(Communicator& comm, const Sweep& sweep, const std::string& name) {
  const perf::Subject& s = sweep.subject;
  const bool speaks = comm.rank() == 0;
  if (speaks) print_head(comm, sweep, name);
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
    fmt::print("# Collective test concluded: {}_perf\n", name);
  }
  return wrong;
}

int finish(const Result<uint64_t>& wrong) {
  if (!wrong) return fail(wrong.error());
  return *wrong == 0 ? kYes : kNo;
}

int run_threads(const Arguments& a, const Sweep& sweep) {
  auto ranks = Communicator::threads(a.num_ranks);
  if (!ranks) return fail(ranks.error());
  std::vector<int> codes(a.num_ranks, kYes);
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < a.num_ranks; ++r) {
    threads.emplace_back(
        [&, r] { codes[r] = finish(run_sweep((*ranks)[r], sweep, a.collective)); });
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

// Starts this very command once a rank.
int run_processes(const Arguments& a) {
  launch::JobOptions options;
  options.num_ranks = a.num_ranks;
  options.path = "/proc/self/exe";
  options.command = own_command();
  options.out_prefix = launch::Prefix::kNone;
  const Result<int> code = launch::run_job(options);
  return code ? *code : fail(code.error());
}

int run(const Arguments& a) {
  const Result<Sweep> sweep = sweep_from(a);
  if (!sweep) return fail(sweep.error());
  if (a.threads) return run_threads(a, *sweep);
  const auto job = base::read_job_environment();
  if (!job) return fail(job.error());
  if (!*job) return run_processes(a);
  Result<Communicator> comm = Communicator::from_environment();
  if (!comm) return fail(comm.error());
  return finish(run_sweep(*comm, *sweep, a.collective));
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto a = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("bench", "Measure collectives here, as nccl-tests does");
  verb->footer(kFooter);
  verb->add_option("collective", a->collective, "all_reduce, broadcast, ...")->required();
  verb->add_option("-n", a->num_ranks, "How many ranks")
      ->check(CLI::Range(uint32_t{1}, launch::kMaxRanks))
      ->capture_default_str();
  verb->add_option("-b", a->min_bytes, "Smallest size: 8, 64K, 1M")->capture_default_str();
  verb->add_option("-e", a->max_bytes, "Largest size")->capture_default_str();
  verb->add_option("-f", a->factor, "From one size to the next")
      ->check(CLI::Range(uint64_t{2}, uint64_t{1} << 32))
      ->capture_default_str();
  verb->add_option("-d", a->type, "Type: float, half, bfloat16, int32, ...")->capture_default_str();
  verb->add_option("-o", a->op, "Operator: sum, prod, min, max, avg, ...")->capture_default_str();
  verb->add_option("-r", a->subject.root, "Root, of calls that have one")->capture_default_str();
  verb->add_option("-w", a->subject.warmups, "Calls before the clock starts")
      ->capture_default_str();
  verb->add_option("-i,--iters", a->subject.iterations, "Calls that are timed")
      ->check(CLI::Range(1u, 1u << 30))
      ->capture_default_str();
  verb->add_option("-c", a->subject.checks, "Calls whose result is checked")->capture_default_str();
  verb->add_flag("--threads", a->threads, "Ranks are threads, not processes");
  verb->add_flag("--shared-memory", a->subject.shared_memory,
                 "Buffers from tutti::allocate, which other ranks read where they lie");
  verb->callback([a, &action] { action = [a] { return run(*a); }; });
}

}  // namespace tutti::tools
