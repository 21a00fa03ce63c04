// tutti chaos: collectives in another random order on each rank, checked exactly.
#include <fmt/format.h>

#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/job_environment.h"
#include "base/try.h"
#include "comm/job.h"
#include "tools/chaos/device_job.h"
#include "tools/chaos/gpu.h"
#include "tools/chaos/kill.h"
#include "tools/chaos/rank_run.h"
#include "tools/chaos/soak.h"
#include "tools/chaos/summary.h"
#include "tools/launch/job.h"
#include "tools/terminal.h"
#include "tools/verb.h"

namespace tutti::tools {
namespace {

struct Arguments {
  chaos::Settings settings;
  std::string pattern = "random";
  std::string max_bytes;
  std::string duration;
  std::string device = "host";
  uint64_t num_seeds = 0;
  bool has_seed = false;
};

constexpr const char* kFooter = R"(Examples:
  tutti chaos -n 8
  tutti chaos -n 4 --collectives 10000 --rounds 2
  tutti chaos -n 8 --pattern torchrec --issuers 2
  tutti chaos -n 3 --threads --seed 42 --json
  tutti chaos -n 4 --kill
  tutti chaos -n 4 --kill --for 10m
  tutti chaos -n 4 --device cuda --seeds 100

Every rank issues the same collectives on groups that overlap, each rank in an order of its own, and
compares every element of every result. Rounds in any order and rounds in one order alternate, so
that their times can be compared. Patterns:
  random    every kind, type, operator and size; every rank in its own random order
  latin     the same; no two ranks ever have the same collective at the same place
  torchrec  two communicators; on some ranks all_to_all comes before all_reduce, on others after
  grid      tensor x data x pipeline groups: every rank is in three

With --kill one rank is killed at a random moment: the others must name it and go on without it, and
nothing may be left behind. --for and --seeds repeat it all with the seeds that follow.

With --device cuda ranks share a GPU and enqueue in several streams, and now and then wait for the
whole device in the middle. Processes need NVIDIA's MPS for that.

Exit codes: 0 all right, 1 something came out wrong, failed or was left behind, 2 bad use.)";

Result<chaos::Settings> settings_from(const Arguments& a) {
  chaos::Settings settings = a.settings;
  settings.pattern = *chaos::parse_pattern(a.pattern);
  settings.on_gpu = a.device == "cuda";
  if (!a.max_bytes.empty()) {
    TUTTI_ASSIGN(settings.max_bytes, parse_bytes(a.max_bytes));
  }
  if (!a.has_seed) settings.seed = std::random_device{}() % 1'000'000;
  return chaos::completed(settings);
}

// Only processes can tell: there the rank's own engine is at hand.
chaos::ReadSwitches switches_of_process() {
  return []() -> std::optional<chaos::Switches> {
    const auto world = comm::join_job();
    if (!world) return std::nullopt;
    const engine::EngineCounts counts = (*world)->node().engine.counts();
    return chaos::Switches{counts.switches, counts.looks, counts.most_switches, counts.completed};
  };
}

int fail_on(const Communicator& world, const Error& error) {
  print_error(fmt::format("rank {}: {}", world.rank(), error.message));
  return kNo;
}

int run_rank(const chaos::Settings& settings, const chaos::Soak& soak, Communicator& world) {
  if (settings.on_gpu) return chaos::run_rank_on_gpu(settings, soak, world);
  auto run = chaos::RankRun::prepare(settings, world);
  if (!run) return fail_on(world, run.error());
  if (!settings.threads) (*run)->set_read_switches(switches_of_process());
  if (const Status status = (*run)->run(); !status) return fail_on(world, status.error());
  const chaos::RankTally& tally = (*run)->tally();
  if (!tally.first_wrong.empty()) print_error("wrong: " + tally.first_wrong);
  const auto summary = chaos::summarise(world, settings, tally);
  if (!summary) return fail_on(world, summary.error());
  if (world.rank() == 0) print(*summary, settings, (*run)->workload());
  return summary->num_wrong == 0 ? kYes : kNo;
}

int run_threads(const chaos::Settings& settings, const chaos::Soak& soak) {
  auto ranks = Communicator::threads(settings.num_ranks);
  if (!ranks) return fail(ranks.error());
  std::vector<int> codes(settings.num_ranks, kYes);
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < settings.num_ranks; ++r) {
    threads.emplace_back([&, r] {
      codes[r] = run_rank(settings, soak, (*ranks)[r]);
      // Nobody would tell the others that this one is gone.
      if (codes[r] != kYes) {
        std::fflush(nullptr);
        std::_Exit(codes[r]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return codes[0];
}

int run_processes(const chaos::Settings& settings, const Arguments& a) {
  launch::JobOptions options;
  options.num_ranks = settings.num_ranks;
  options.path = "/proc/self/exe";
  options.command = {"tutti"};
  for (const std::string& word : command_of(settings)) options.command.push_back(word);
  if (settings.on_gpu) {
    // Ranks on a GPU go from seed to seed themselves: opening it takes longer than a run.
    if (!a.duration.empty()) options.command.insert(options.command.end(), {"--for", a.duration});
    if (a.num_seeds != 0) {
      options.command.insert(options.command.end(), {"--seeds", std::to_string(a.num_seeds)});
    }
  }
  options.out_prefix = launch::Prefix::kNone;
  options.err_prefix = launch::Prefix::kNone;
  if (settings.kill) return chaos::run_with_kill(settings, options);
  const Result<int> code = launch::run_job(options);
  return code ? *code : fail(code.error());
}

int run(const Arguments& a) {
  const Result<chaos::Settings> settings = settings_from(a);
  if (!settings) return fail(settings.error());
  if (settings->on_gpu) {
    if (const Status has_gpus = chaos::check_has_gpus(); !has_gpus) return fail(has_gpus.error());
  }
  const Result<chaos::Soak> soak = chaos::soak_from(a.duration, a.num_seeds);
  if (!soak) return fail(soak.error());
  const auto job = base::read_job_environment();
  if (!job) return fail(job.error());
  if (*job) {
    Result<Communicator> world = Communicator::from_environment();
    if (!world) return fail(world.error());
    return settings->kill ? chaos::run_rank_with_kill(*settings, *world)
                          : run_rank(*settings, *soak, *world);
  }
  if (soak->is_wanted() && !settings->on_gpu) return chaos::run_soak(*settings, *soak);
  return settings->threads ? run_threads(*settings, *soak) : run_processes(*settings, a);
}

void add_amounts(CLI::App& verb, Arguments& a) {
  chaos::Settings& s = a.settings;
  verb.add_option("-n", s.num_ranks, "How many ranks")
      ->check(CLI::Range(uint32_t{1}, launch::kMaxRanks))
      ->capture_default_str();
  verb.add_option("--collectives", s.num_collectives, "How many a round")
      ->check(CLI::Range(1U, 1'000'000U))
      ->capture_default_str();
  verb.add_option("--rounds", s.rounds, "In any order, and as many in one order")
      ->check(CLI::Range(1U, 1'000'000U))
      ->capture_default_str();
  verb.add_option("--in-flight", s.in_flight, "At most so many at once; default: all of a round");
  verb.add_option("--groups", s.num_groups, "Groups that overlap, one of all ranks among them")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str();
  verb.add_option("--max-bytes", a.max_bytes, "Of one collective; default: 1M, less for many");
  verb.add_option("--delay", s.delay_us,
                  "Longest pause before a call, in us; one call in 16 has one")
      ->check(CLI::Range(0U, 10'000'000U))
      ->capture_default_str();
  verb.add_option("--issuers", s.num_issuers, "Threads of each rank that issue and wait")
      ->check(CLI::Range(1U, 64U))
      ->capture_default_str();
  verb.add_option("--deadline", s.deadline_s, "Of each collective, in seconds")
      ->check(CLI::Range(1U, 86400U))
      ->capture_default_str();
}

void add_device(CLI::App& verb, Arguments& a) {
  CLI::Option* const device =
      verb.add_option("--device", a.device, "Where collectives run: host, or cuda, on one GPU")
          ->check(CLI::IsMember({"host", "cuda"}))
          ->capture_default_str();
  verb.add_option("--streams", a.settings.num_streams, "Of each rank on the GPU; default: 2 to 4")
      ->check(CLI::Range(1U, 32U))
      ->needs(device);
  verb.add_option("--waits", a.settings.num_waits, "For the whole GPU, a round and rank")
      ->check(CLI::Range(0U, 1'000'000U))
      ->capture_default_str()
      ->needs(device);
}

}  // namespace

void add_chaos(CLI::App& app, Action& action) {
  auto a = std::make_shared<Arguments>();
  CLI::App* verb =
      app.add_subcommand("chaos", "Collectives in another random order on each rank, checked");
  verb->footer(kFooter);
  add_amounts(*verb, *a);
  CLI::Option* const seed = verb->add_option("--seed", a->settings.seed, "Repeats a run");
  std::vector<std::string> patterns;
  for (const chaos::Pattern pattern : chaos::kPatterns) patterns.emplace_back(to_string(pattern));
  verb->add_option("--pattern", a->pattern, "Which operations, in which orders")
      ->check(CLI::IsMember(patterns))
      ->capture_default_str();
  add_device(*verb, *a);
  verb->add_flag("--threads", a->settings.threads, "Ranks are threads, not processes");
  verb->add_flag("--kill", a->settings.kill, "Kill a random rank; the others must name it");
  verb->add_option("--for", a->duration, "Repeat with other seeds for so long: 30s, 10m, 1h");
  verb->add_option("--seeds", a->num_seeds, "Repeat with so many seeds");
  verb->add_flag("--json", a->settings.json, "The report as JSON");
  verb->callback([a, seed, &action] {
    a->has_seed = seed->count() > 0;
    action = [a] { return run(*a); };
  });
}

}  // namespace tutti::tools
