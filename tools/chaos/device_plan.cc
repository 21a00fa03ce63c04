#include "tools/chaos/device_plan.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "tools/chaos/random.h"

namespace tutti::tools::chaos {
namespace {

// What a random sequence is for; workload.cc and rank_run.cc have the others.
enum DeviceUse : uint64_t { kLine = 201, kCuts, kStreams };

class DevicePlanner {
 public:
  DevicePlanner(const Settings& settings, const Workload& workload, uint32_t rank,
                const Batch& batch)
      : s_(settings), workload_(workload), rank_(rank), batch_(batch) {
    const uint64_t where = batch.round * s_.num_collectives + batch.first;
    line_.resize(batch.last - batch.first);
    std::iota(line_.begin(), line_.end(), batch.first);
    Random(s_.seed, kLine, where).shuffle(line_);
    cuts_ = Random(s_.seed, kCuts, where, rank + 1);
    streams_ = Random(s_.seed, kStreams, where, rank + 1);
  }

  DevicePlan make() {
    const bool is_any = batch_.order == Order::kAny;
    if (is_any && s_.pattern == Pattern::kLatin) {
      add_latin();
    } else if (is_any && s_.pattern == Pattern::kTorchrec) {
      add_groups();
    } else {
      add_between_cuts(is_any);
    }
    // One more chance than there are places between tasks.
    if (is_time_to_wait()) plan_.waits_at_end.push_back(choose_wait());
    return std::move(plan_);
  }

 private:
  // A range of streams.
  struct Lanes {
    uint32_t first;
    uint32_t num;
  };
  [[nodiscard]] Lanes all() const { return {0, s_.num_streams}; }
  [[nodiscard]] Lanes lower() const { return {0, s_.num_streams / 2}; }
  [[nodiscard]] Lanes upper() const {
    return {s_.num_streams / 2, s_.num_streams - s_.num_streams / 2};
  }

  [[nodiscard]] bool is_mine(uint32_t task) const {
    const std::vector<uint32_t>& members = workload_.groups[workload_.tasks[task].group];
    return std::find(members.begin(), members.end(), rank_) != members.end();
  }
  // As often as was asked for in a round, on average.
  bool is_time_to_wait() { return cuts_.below(s_.num_collectives) < s_.num_waits; }
  DeviceWait choose_wait() { return kDeviceWaits[cuts_.below(std::size(kDeviceWaits))]; }

  uint32_t choose_stream(Lanes lanes) {
    return lanes.first + static_cast<uint32_t>(streams_.below(lanes.num));
  }

  // In the order of the tasks.
  void add_in_order(std::span<const uint32_t> tasks, Lanes lanes) {
    for (const uint32_t task : tasks) {
      if (is_mine(task)) plan_.acts.push_back({task, choose_stream(lanes)});
    }
  }
  // Each stream has its own in their order; which stream is next is chance.
  void add_interleaved(std::span<const uint32_t> tasks, Lanes lanes) {
    std::vector<std::vector<uint32_t>> queues(lanes.num);
    for (const uint32_t task : tasks) {
      if (is_mine(task)) queues[streams_.below(lanes.num)].push_back(task);
    }
    std::vector<uint32_t> next(lanes.num);
    std::vector<uint32_t> turns;  // each stream as often as it has tasks
    for (uint32_t i = 0; i < lanes.num; ++i) turns.insert(turns.end(), queues[i].size(), i);
    streams_.shuffle(turns);
    for (const uint32_t i : turns) {
      plan_.acts.push_back({queues[i][next[i]++], lanes.first + i});
    }
  }

  // Cuts are this rank's own: before each, it has enqueued a beginning of the line.
  void add_between_cuts(bool is_any) {
    const std::span<const uint32_t> line(line_);
    size_t begin = 0;
    for (size_t end = 1; end <= line.size(); ++end) {
      const bool is_cut = end < line.size() && is_time_to_wait();
      if (!is_cut && end < line.size()) continue;
      const auto part = line.subspan(begin, end - begin);
      if (is_any) {
        add_interleaved(part, all());
      } else {
        add_in_order(part, all());
      }
      begin = end;
      if (!is_cut) continue;
      const DeviceWait wait = choose_wait();
      // Of threads, others may still have to enqueue: later.
      if (s_.threads) {
        plan_.waits_at_end.push_back(wait);
      } else {
        plan_.acts.push_back({.wait = wait});
      }
    }
  }

  // The line begun as many places later as the rank says: two parts of it, each in streams of its
  // own.
  void add_latin() {
    const size_t shift = rank_ % line_.size();
    const std::span<const uint32_t> line(line_);
    add_in_order(line.subspan(shift), lower());
    add_in_order(line.first(shift), upper());
  }

  // All of one communicator before all of the other, as workload.cc has it.
  void add_groups() {
    const std::vector<uint32_t> order = issue_order(s_, workload_, rank_, batch_);
    if (order.empty()) return;
    const uint32_t first_group = workload_.tasks[order[0]].group;
    std::vector<uint32_t> line = line_;
    const auto middle = std::stable_partition(line.begin(), line.end(), [&](uint32_t task) {
      return workload_.tasks[task].group == first_group;
    });
    add_interleaved({line.begin(), middle}, lower());
    add_interleaved({middle, line.end()}, upper());
  }

  const Settings& s_;
  const Workload& workload_;
  uint32_t rank_;
  const Batch& batch_;
  std::vector<uint32_t> line_;
  Random cuts_{0};
  Random streams_{0};
  DevicePlan plan_;
};

}  // namespace

std::string_view to_string(DeviceWait wait) noexcept {
  switch (wait) {
    case DeviceWait::kSynchronize: return "synchronize";
    case DeviceWait::kMemory: return "memory";
    case DeviceWait::kDefaultStream: return "default stream";
    case DeviceWait::kFirstLaunch: return "first launch";
  }
  return "";
}

DevicePlan make_device_plan(const Settings& settings, const Workload& workload, uint32_t rank,
                            const Batch& batch) {
  return DevicePlanner(settings, workload, rank, batch).make();
}

}  // namespace tutti::tools::chaos
