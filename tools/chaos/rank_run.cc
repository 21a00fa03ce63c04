#include "tools/chaos/rank_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/try.h"
#include "tools/chaos/random.h"

namespace tutti::tools::chaos {
namespace {

using Clock = std::chrono::steady_clock;

// What a random sequence is for; workload.cc has the others.
enum RunUse : uint64_t { kPauses = 101, kTests, kWaits, kMeetings, kFirstOrder };

std::optional<uint32_t> place_in(const std::vector<uint32_t>& members, uint32_t rank) {
  const auto found = std::find(members.begin(), members.end(), rank);
  if (found == members.end()) return std::nullopt;
  return static_cast<uint32_t>(found - members.begin());
}

}  // namespace

Result<std::unique_ptr<RankRun>> RankRun::prepare(const Settings& settings,
                                                  const Communicator& world) {
  std::unique_ptr<RankRun> run(new RankRun(settings, world));
  const Workload& workload = run->workload_;
  for (const std::vector<uint32_t>& members : workload.groups) {
    std::optional<Communicator>& group = run->groups_.emplace_back();
    if (!place_in(members, world.rank())) continue;
    TUTTI_ASSIGN(group, run->world_.subset(members));
  }
  for (const Task& task : workload.tasks) {
    const std::vector<uint32_t>& members = workload.groups[task.group];
    const auto place = place_in(members, world.rank());
    std::unique_ptr<Exchange>& exchange = run->exchanges_.emplace_back();
    if (!place) continue;
    exchange = std::make_unique<Exchange>(task, *place, static_cast<uint32_t>(members.size()));
  }
  return run;
}

Status RankRun::run() {
  // Whoever comes first finds caches and programs cold: once without counting, then by turns.
  TUTTI_TRY(run_round(UINT32_MAX, Order::kOne));
  tally_.one = {};
  for (uint64_t round = 0; round < settings_.rounds; ++round) {
    const bool any_first = Random(settings_.seed, kFirstOrder, round).one_in(2);
    TUTTI_TRY(run_round(round, any_first ? Order::kAny : Order::kOne));
    TUTTI_TRY(run_round(round, any_first ? Order::kOne : Order::kAny));
  }
  return {};
}

Status RankRun::run_round(uint64_t round, Order order) {
  failed_.assign(exchanges_.size(), 0);
  for (const auto& exchange : exchanges_) {
    if (exchange) exchange->fill();
  }
  const CallOptions together{.deadline = std::chrono::seconds(settings_.deadline_s)};
  TUTTI_TRY(world_.barrier(together).wait());
  const std::optional<Switches> before = read_switches_ ? read_switches_() : std::nullopt;
  const auto begin = Clock::now();
  const uint32_t num_tasks = settings_.num_collectives;
  for (uint32_t first = 0; first < num_tasks; first += settings_.in_flight) {
    const uint32_t last = std::min(num_tasks, first + settings_.in_flight);
    TUTTI_TRY(run_batch({round, first, last, order}));
    // Now and then all ranks meet, as they do where a training step ends.
    const bool all_meet = Random(settings_.seed, kMeetings, round, first).one_in(4);
    if (all_meet && last < num_tasks) TUTTI_TRY(world_.barrier(together).wait());
  }
  const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
  OrderTally& tally = order == Order::kAny ? tally_.any : tally_.one;
  tally.round_us.push_back(took.count());
  if (before) {
    const std::optional<Switches> after = read_switches_();
    tally.switches += after->all - before->all;
    tally.looks += after->looks - before->looks;
    tally.operations += after->operations - before->operations;
    tally_.most_switches = after->most;
    tally_.has_switches = true;
  }
  check(round, order);
  return {};
}

Status RankRun::run_batch(const Batch& batch) {
  const std::vector<uint32_t> order = issue_order(settings_, workload_, world_.rank(), batch);
  const uint32_t num_issuers = settings_.num_issuers;
  if (num_issuers == 1) return issue_and_wait(batch, order, 0);
  std::vector<Status> statuses(num_issuers);
  std::vector<std::thread> issuers;
  for (uint32_t issuer = 0; issuer < num_issuers; ++issuer) {
    std::vector<uint32_t> part;
    for (size_t i = issuer; i < order.size(); i += num_issuers) part.push_back(order[i]);
    issuers.emplace_back([this, &batch, &statuses, issuer, mine = std::move(part)] {
      statuses[issuer] = issue_and_wait(batch, mine, issuer);
    });
  }
  for (std::thread& issuer : issuers) issuer.join();
  for (Status& status : statuses) TUTTI_TRY(std::move(status));
  return {};
}

Status RankRun::issue_and_wait(const Batch& batch, const std::vector<uint32_t>& order,
                               uint32_t issuer) {
  const uint64_t where = batch.round * settings_.num_collectives + batch.first;
  const uint64_t who = uint64_t{world_.rank()} * settings_.num_issuers + issuer;
  Random tests(settings_.seed, kTests, where, who);
  std::vector<Work> works(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    if (hook_ && batch.order == Order::kAny) hook_(batch.round, batch.first + i);
    pause_sometimes(batch, i);
    const Exchange& exchange = *exchanges_[order[i]];
    const std::string name = exchange.task().name();
    Call call = exchange.call();
    call.options.name = name;
    call.options.deadline = std::chrono::seconds(settings_.deadline_s);
    works[i] = groups_[exchange.task().group]->submit(call);
    // Sometimes a caller looks at what it issued before.
    if (tests.one_in(8)) (void)works[tests.below(i + 1)].test();
  }
  std::vector<uint32_t> waits(order.size());
  for (uint32_t i = 0; i < waits.size(); ++i) waits[i] = i;
  if (batch.order == Order::kAny) Random(settings_.seed, kWaits, where, who).shuffle(waits);
  Status result;
  for (const uint32_t i : waits) {
    // Liveness: the operation ends when its peers come, or at its deadline.
    Status status = works[i].wait();
    if (status) continue;
    const Task& task = exchanges_[order[i]]->task();
    failed_[task.index] = 1;
    if (on_error_ && on_error_(task, status.error())) continue;
    if (result) {
      result = Error{status.error().code, fmt::format("round {}: {}: {}", batch.round,
                                                      task.describe(), status.error().message)};
    }
  }
  return result;
}

// The same pauses in both kinds of rounds, so that orders alone differ.
void RankRun::pause_sometimes(const Batch& batch, uint32_t position) const {
  if (settings_.delay_us == 0) return;
  Random random(settings_.seed, kPauses, batch.round * settings_.num_collectives + batch.first,
                uint64_t{world_.rank()} << 32 | position);
  if (!random.one_in(16)) return;
  std::this_thread::sleep_for(std::chrono::microseconds(random.below(settings_.delay_us) + 1));
}

void RankRun::check(uint64_t round, Order order) {
  for (const auto& exchange : exchanges_) {
    if (!exchange || failed_[exchange->task().index] != 0) continue;
    const uint64_t wrong = exchange->num_wrong();
    if (wrong == 0) continue;
    tally_.num_wrong += wrong;
    if (!tally_.first_wrong.empty()) continue;
    tally_.first_wrong =
        fmt::format("rank {}, round {} in {} order: {} elements of {}", world_.rank(), round,
                    order == Order::kAny ? "any" : "one", wrong, exchange->task().describe());
  }
}

}  // namespace tutti::tools::chaos
