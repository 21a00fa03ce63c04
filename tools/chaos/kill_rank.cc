// The ranks' part of chaos with a death.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <mutex>
#include <numeric>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/try.h"
#include "tools/chaos/death.h"
#include "tools/chaos/kill.h"
#include "tools/chaos/note.h"
#include "tools/chaos/rank_run.h"
#include "tools/exit_code.h"
#include "tools/terminal.h"

namespace tutti::tools::chaos {
namespace {

[[noreturn]] void die(uint32_t rank) {
  leave_note(rank, {base::now_ns(), true, false, "killed itself"});
  kill(getpid(), SIGKILL);
  std::abort();
}

// "rank 3" and not "rank 31".
bool names(const std::string& message, uint32_t rank) {
  const std::string name = fmt::format("rank {}", rank);
  for (size_t at = message.find(name); at != std::string::npos; at = message.find(name, at + 1)) {
    const size_t after = at + name.size();
    if (after == message.size() || message[after] < '0' || message[after] > '9') return true;
  }
  return false;
}

// What a survivor learns: the first error that names the victim, and whatever should not be.
class Witness {
 public:
  explicit Witness(uint32_t victim) : victim_(victim) {}

  // Whether the error is what a death must look like. It may name the victim by its place in the
  // group of the operation, or by its rank in the job.
  bool accept(const std::string& what, uint32_t place, const Error& error) {
    const std::lock_guard lock(mutex_);  // of the rank's issuers
    const std::string line = fmt::format("{}: {}", what, error.message);
    const bool is_named = names(error.message, place) || names(error.message, victim_);
    if (error.code != ErrorCode::kPeerLost || !is_named) {
      if (complaint_.empty()) complaint_ = fmt::format("does not name rank {}: {}", victim_, line);
      return false;
    }
    if (first_.empty()) first_ns_ = base::now_ns(), first_ = line;
    return true;
  }

  void complain(const std::string& what) {
    if (complaint_.empty()) complaint_ = what;
  }

  [[nodiscard]] bool has_seen_it() const { return !first_.empty(); }
  [[nodiscard]] Note note(bool went_on) const {
    const bool is_ok = complaint_.empty() && has_seen_it() && went_on;
    std::string message = complaint_.empty() ? first_ : complaint_;
    if (!has_seen_it() && complaint_.empty()) message = "no operation failed";
    return {first_ns_, is_ok, went_on, std::move(message)};
  }

 private:
  uint32_t victim_;
  std::mutex mutex_;
  uint64_t first_ns_ = 0;
  std::string first_;
  std::string complaint_;
};

Status work_without(uint32_t victim, Communicator& world) {
  std::vector<uint32_t> survivors(world.num_ranks());
  std::iota(survivors.begin(), survivors.end(), 0U);
  std::erase(survivors, victim);
  TUTTI_ASSIGN(Communicator group, world.subset(survivors));
  uint64_t count = 1;
  TUTTI_TRY(group.all_reduce(std::span(&count, 1), {.name = "survivors"}).wait());
  if (count == survivors.size()) return {};
  return Error{ErrorCode::kAborted,
               fmt::format("{} survivors counted {}", survivors.size(), count)};
}

void survive(uint32_t victim, RankRun& run, Communicator& world) {
  Witness witness(victim);
  run.set_on_error([&](const Task& task, const Error& error) {
    const std::vector<uint32_t>& members = run.workload().groups[task.group];
    const auto place = std::find(members.begin(), members.end(), victim) - members.begin();
    return witness.accept(task.describe(), static_cast<uint32_t>(place), error);
  });
  Status status = run.run();
  // It may have died at the very end: then the next meeting tells.
  if (status) status = world.barrier().wait();
  if (!status) (void)witness.accept("barrier", victim, status.error());
  if (run.tally().num_wrong != 0) witness.complain(run.tally().first_wrong);
  const Status went_on = work_without(victim, world);
  if (!went_on) witness.complain("the survivors cannot go on: " + went_on.error().message);
  leave_note(world.rank(), witness.note(went_on.ok()));
}

}  // namespace

int run_rank_with_kill(const Settings& settings, Communicator& world) {
  auto run = RankRun::prepare(settings, world);
  if (!run) return fail(run.error());
  const Death death = death_of(settings);
  if (world.rank() != death.victim) {
    survive(death.victim, **run, world);
    return kYes;
  }
  (*run)->set_hook([&](uint64_t round, uint32_t position) {
    const bool is_due = round > death.round || (round == death.round && position >= death.position);
    if (is_due) die(world.rank());
  });
  if (const Status status = (*run)->run(); !status) {
    print_error(
        fmt::format("rank {}, before it was killed: {}", world.rank(), status.error().message));
  }
  die(world.rank());
}

}  // namespace tutti::tools::chaos
