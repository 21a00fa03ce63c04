#include "tools/chaos/device_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "base/try.h"
#include "tools/chaos/random.h"

namespace tutti::tools::chaos {
namespace {

using Clock = std::chrono::steady_clock;

// What a random sequence is for; workload.cc, rank_run.cc and device_plan.cc have the others.
enum DeviceRunUse : uint64_t { kDevicePauses = 301, kDeviceTests, kDeviceWaitOrder, kDeviceFirst };

std::optional<uint32_t> device_place_in(const std::vector<uint32_t>& members, uint32_t rank) {
  const auto found = std::find(members.begin(), members.end(), rank);
  if (found == members.end()) return std::nullopt;
  return static_cast<uint32_t>(found - members.begin());
}

}  // namespace

Result<std::vector<DeviceStream>> DeviceSeat::streams(uint32_t num) {
  while (streams_.size() < num) {
    TUTTI_ASSIGN(const DeviceStream stream, gpu_.make_stream());
    streams_.push_back(stream);
  }
  return std::vector<DeviceStream>(streams_.begin(), streams_.begin() + num);
}

Result<std::byte*> DeviceSeat::memory(uint64_t bytes) {
  if (bytes > bytes_) {
    const uint64_t wanted = std::max(bytes, 2 * bytes_);
    TUTTI_ASSIGN(memory_, gpu_.allocate(wanted));
    bytes_ = wanted;
  }
  return memory_;
}

Result<std::unique_ptr<DeviceRun>> DeviceRun::prepare(const Settings& settings,
                                                      const Communicator& world, DeviceSeat& seat) {
  std::unique_ptr<DeviceRun> run(new DeviceRun(settings, world, seat));
  TUTTI_ASSIGN(run->streams_, seat.streams(settings.num_streams));
  TUTTI_TRY(run->make_groups());
  TUTTI_TRY(run->make_exchanges());
  return run;
}

Status DeviceRun::make_groups() {
  for (const std::vector<uint32_t>& members : workload_.groups) {
    std::optional<DeviceCommunicator>& group = groups_.emplace_back();
    if (!device_place_in(members, world_.rank())) continue;
    TUTTI_ASSIGN(const Communicator part, world_.subset(members));
    TUTTI_ASSIGN(group, gpu_.communicator(part));
  }
  return {};
}

Status DeviceRun::make_exchanges() {
  uint64_t bytes = 0;
  for (const Task& task : workload_.tasks) {
    const std::vector<uint32_t>& members = workload_.groups[task.group];
    const auto place = device_place_in(members, world_.rank());
    std::unique_ptr<DeviceExchange>& exchange = exchanges_.emplace_back();
    if (!place) continue;
    exchange =
        std::make_unique<DeviceExchange>(task, *place, static_cast<uint32_t>(members.size()));
    bytes += exchange->bytes();
  }
  TUTTI_ASSIGN(std::byte * at, seat_.memory(bytes));
  for (const auto& exchange : exchanges_) {
    if (!exchange) continue;
    exchange->place_at(at);
    at += exchange->bytes();
  }
  return {};
}

Status DeviceRun::run() {
  // Whoever comes first finds caches and programs cold: once without counting, then by turns.
  TUTTI_TRY(run_round(UINT32_MAX, Order::kOne));
  tally_.one = {};
  for (uint64_t round = 0; round < settings_.rounds; ++round) {
    const bool any_first = Random(settings_.seed, kDeviceFirst, round).one_in(2);
    TUTTI_TRY(run_round(round, any_first ? Order::kAny : Order::kOne));
    TUTTI_TRY(run_round(round, any_first ? Order::kOne : Order::kAny));
  }
  return {};
}

Status DeviceRun::meet() {
  // Liveness: all ranks come, or the barrier ends at its deadline.
  return world_.barrier({.deadline = std::chrono::seconds(settings_.deadline_s)}).wait();
}

Status DeviceRun::run_round(uint64_t round, Order order) {
  for (const auto& exchange : exchanges_) {
    if (exchange) TUTTI_TRY(exchange->fill(gpu_));
  }
  TUTTI_TRY(meet());
  const auto begin = Clock::now();
  const uint32_t num_tasks = settings_.num_collectives;
  for (uint32_t first = 0; first < num_tasks; first += settings_.in_flight) {
    const uint32_t last = std::min(num_tasks, first + settings_.in_flight);
    TUTTI_TRY(run_batch({round, first, last, order}));
  }
  const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
  OrderTally& tally = order == Order::kAny ? tally_.any : tally_.one;
  tally.round_us.push_back(took.count());
  TUTTI_TRY(finish_groups(round));
  return check(round, order);
}

Status DeviceRun::run_batch(const Batch& batch) {
  const DevicePlan plan = make_device_plan(settings_, workload_, world_.rank(), batch);
  const uint64_t where = batch.round * settings_.num_collectives + batch.first;
  uint32_t position = 0;
  for (const Act& act : plan.acts) {
    if (act.wait) {
      TUTTI_TRY(wait_for_device(*act.wait));
    } else {
      TUTTI_TRY(enqueue(act, batch, position++));
    }
  }
  TUTTI_TRY(wait_at_end(plan));
  std::vector<DeviceStream> streams = streams_;
  Random(settings_.seed, kDeviceWaitOrder, where, world_.rank()).shuffle(streams);
  // Liveness: all ranks enqueue all of the batch, and operations have deadlines.
  for (const DeviceStream stream : streams) TUTTI_TRY(gpu_.wait_for(stream));
  return {};
}

Status DeviceRun::enqueue(const Act& act, const Batch& batch, uint32_t position) {
  const DeviceStream stream = streams_[act.stream];
  TUTTI_TRY(pause_sometimes(batch, position, stream));
  const DeviceExchange& exchange = *exchanges_[act.task];
  DeviceCommunicator& group = *groups_[exchange.task().group];
  const std::string name = exchange.task().name();
  Call call = exchange.call();
  call.options.name = name;
  call.options.deadline = std::chrono::seconds(settings_.deadline_s);
  const Status taken = group.enqueue(call, stream);
  if (!taken) {
    return Error{taken.error().code,
                 fmt::format("round {}: {}: {}", batch.round, exchange.task().describe(),
                             taken.error().message)};
  }
  // Sometimes a caller looks how things are.
  const uint64_t where = batch.round * settings_.num_collectives + batch.first;
  const uint64_t who = uint64_t{world_.rank()} << 32 | position;
  if (Random(settings_.seed, kDeviceTests, where, who).one_in(8)) return group.status();
  return {};
}

Status DeviceRun::wait_at_end(const DevicePlan& plan) {
  // Threads wait for each other's streams: when everybody has enqueued all, and before anybody
  // goes on.
  const bool is_together = settings_.threads && settings_.num_waits != 0;
  if (is_together) TUTTI_TRY(meet());
  for (const DeviceWait how : plan.waits_at_end) TUTTI_TRY(wait_for_device(how));
  return is_together ? meet() : Status{};
}

Status DeviceRun::wait_for_device(DeviceWait how) {
  ++tally_.waits[static_cast<size_t>(how)];
  return gpu_.wait_for_device(how);
}

// The same pauses in both kinds of rounds, so that orders alone differ.
Status DeviceRun::pause_sometimes(const Batch& batch, uint32_t position, DeviceStream stream) {
  if (settings_.delay_us == 0) return {};
  Random random(settings_.seed, kDevicePauses,
                batch.round * settings_.num_collectives + batch.first,
                uint64_t{world_.rank()} << 32 | position);
  if (!random.one_in(8)) return {};
  const std::chrono::microseconds time(random.below(settings_.delay_us) + 1);
  if (random.one_in(2)) return gpu_.delay(stream, time);
  std::this_thread::sleep_for(time);
  return {};
}

Status DeviceRun::finish_groups(uint64_t round) {
  for (std::optional<DeviceCommunicator>& group : groups_) {
    if (!group) continue;
    // Liveness: its streams have come past it.
    const Status status = group->finish();
    if (status) continue;
    return Error{status.error().code, fmt::format("round {}: {}", round, status.error().message)};
  }
  return {};
}

Status DeviceRun::check(uint64_t round, Order order) {
  for (const auto& exchange : exchanges_) {
    if (!exchange) continue;
    TUTTI_ASSIGN(const uint64_t wrong, exchange->count_wrong(gpu_));
    if (wrong == 0) continue;
    tally_.num_wrong += wrong;
    if (!tally_.first_wrong.empty()) continue;
    tally_.first_wrong =
        fmt::format("rank {}, round {} in {} order: {} elements of {}", world_.rank(), round,
                    order == Order::kAny ? "any" : "one", wrong, exchange->task().describe());
  }
  return {};
}

}  // namespace tutti::tools::chaos
