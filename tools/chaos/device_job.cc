#include "tools/chaos/device_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <string>

#include "base/try.h"
#include "tools/chaos/device_run.h"
#include "tools/chaos/gpu.h"
#include "tools/chaos/summary.h"
#include "tools/exit_code.h"
#include "tools/terminal.h"

namespace tutti::tools::chaos {
namespace {

using Clock = std::chrono::steady_clock;

class DeviceJob {
 public:
  DeviceJob(const Settings& settings, const Soak& soak, Communicator& world, Gpu& gpu)
      : first_(settings), soak_(soak), world_(world), seat_(gpu) {}

  // All seeds. The first that is not all right is the last.
  Status run() {
    Settings next = first_;
    for (bool goes_on = true; goes_on; ++next.seed) {
      if (const Status status = run_seed(next); !status) {
        return Error{status.error().code,
                     fmt::format("{} (again: tutti {})", status.error().message,
                                 fmt::join(command_of(next), " "))};
      }
      TUTTI_ASSIGN(goes_on, agree_to_go_on());
    }
    if (soak_.is_wanted() && is_first()) print_all();
    return {};
  }
  [[nodiscard]] bool is_right() const { return num_wrong_ == 0; }

 private:
  [[nodiscard]] bool is_first() const { return world_.rank() == 0; }

  Status run_seed(const Settings& settings) {
    TUTTI_ASSIGN(const auto run, DeviceRun::prepare(settings, world_, seat_));
    TUTTI_TRY(run->run());
    const RankTally& tally = run->tally();
    if (!tally.first_wrong.empty()) print_error("wrong: " + tally.first_wrong);
    TUTTI_ASSIGN(const Summary summary, summarise(world_, settings, tally));
    ++num_runs_;
    num_wrong_ += summary.num_wrong;
    num_operations_ += summary.num_operations;
    num_waits_ += std::accumulate(summary.waits.begin(), summary.waits.end(), uint64_t{0});
    if (!is_first()) return {};
    if (!soak_.is_wanted()) {
      print(summary, settings, run->workload());
    } else if (summary.num_wrong != 0) {
      fmt::print(stderr, "again: tutti {}\n", fmt::join(command_of(settings), " "));
    } else if (isatty(STDERR_FILENO) != 0) {
      fmt::print(stderr, "\r{:.0f} s, {} seeds, all right", seconds(), num_runs_);
    }
    return {};
  }

  // The first rank's clock counts.
  Result<bool> agree_to_go_on() {
    const bool has_time = !soak_.duration || Clock::now() - begin_ < *soak_.duration;
    const bool has_seeds = soak_.num_seeds == 0 || num_runs_ < soak_.num_seeds;
    uint8_t goes_on = soak_.is_wanted() && has_time && has_seeds && num_wrong_ == 0 ? 1 : 0;
    // Liveness: all ranks have run the same seeds, and a rank that is lost is an error.
    TUTTI_TRY(world_.broadcast(std::span(&goes_on, 1), {.name = "goes on"}).wait());
    return goes_on != 0;
  }

  void print_all() const {
    if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[K");
    if (first_.json) {
      const nlohmann::json json{{"runs", num_runs_},         {"seconds", seconds()},
                                {"first_seed", first_.seed}, {"operations", num_operations_},
                                {"waits", num_waits_},       {"wrong", num_wrong_}};
      fmt::print("{}\n", json.dump(2));
      return;
    }
    fmt::print("{} runs of {} ranks ({}) on a GPU, in {:.0f} s, from seed {} on: {}\n", num_runs_,
               first_.num_ranks, first_.threads ? "threads" : "processes", seconds(), first_.seed,
               num_wrong_ == 0 ? "all right, every element exact"
                               : fmt::format("{} elements WRONG", num_wrong_));
    fmt::print("  operations    {}\n  waits         {}, each for the whole device\n",
               num_operations_, num_waits_);
  }
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }

  const Settings& first_;
  const Soak& soak_;
  Communicator& world_;
  DeviceSeat seat_;
  Clock::time_point begin_ = Clock::now();
  uint64_t num_runs_ = 0;
  uint64_t num_operations_ = 0;
  uint64_t num_waits_ = 0;
  uint64_t num_wrong_ = 0;
};

}  // namespace

int run_rank_on_gpu(const Settings& settings, const Soak& soak, Communicator& world) {
  const auto gpu = open_gpu();
  if (!gpu) return fail(gpu.error());
  DeviceJob job(settings, soak, world, **gpu);
  if (const Status status = job.run(); !status) {
    print_error(fmt::format("rank {}: {}", world.rank(), status.error().message));
    return kNo;
  }
  return job.is_right() ? kYes : kNo;
}

}  // namespace tutti::tools::chaos
