#include "tools/chaos/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "tools/chaos/random.h"

namespace tutti::tools::chaos {
namespace {

// What a random sequence is for, so that no two uses share one.
enum Use : uint64_t { kGroups = 1, kTasks, kOrders };

// Sums of 8-bit floats and products of 8-bit integers stay exact up to here.
constexpr uint32_t kMostRanksOfBytes = 32;

using Groups = std::vector<std::vector<uint32_t>>;

std::vector<uint32_t> all_ranks(uint32_t num_ranks) {
  std::vector<uint32_t> ranks(num_ranks);
  std::iota(ranks.begin(), ranks.end(), 0U);
  return ranks;
}

Groups random_groups(const Settings& s) {
  Random random(s.seed, kGroups);
  Groups groups{all_ranks(s.num_ranks)};
  for (uint32_t g = 1; g < s.num_groups; ++g) {
    std::vector<uint32_t> ranks = all_ranks(s.num_ranks);
    random.shuffle(ranks);
    const uint32_t least = std::min(2U, s.num_ranks);
    ranks.resize(least + random.below(s.num_ranks - least + 1));
    groups.push_back(std::move(ranks));
  }
  return groups;
}

uint32_t smallest_factor(uint32_t n) {
  for (uint32_t f = 2; f * f <= n; ++f) {
    if (n % f == 0) return f;
  }
  return n;
}

// Ranks as the points of a box; a group for each line along each axis.
Groups grid_groups(const Settings& s) {
  const uint32_t tensor = s.num_ranks == 1 ? 1 : smallest_factor(s.num_ranks);
  const uint32_t rest = s.num_ranks / tensor;
  const uint32_t data = rest == 1 ? 1 : smallest_factor(rest);
  const uint32_t lengths[] = {tensor, data, rest / data};
  Groups groups;
  uint32_t stride = 1;
  for (const uint32_t length : lengths) {
    for (uint32_t first = 0; first < s.num_ranks; ++first) {
      if (first / stride % length != 0) continue;
      std::vector<uint32_t> line;
      for (uint32_t i = 0; i < length; ++i) line.push_back(first + i * stride);
      groups.push_back(std::move(line));
    }
    stride *= length;
  }
  return groups;
}

Groups groups_for(const Settings& s) {
  switch (s.pattern) {
    case Pattern::kRandom:
    case Pattern::kLatin: return random_groups(s);
    case Pattern::kTorchrec: return {all_ranks(s.num_ranks), all_ranks(s.num_ranks)};
    case Pattern::kGrid: return grid_groups(s);
  }
  return {};
}

bool may_be_uneven(CollectiveKind kind) {
  return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kGather || kind == CollectiveKind::kScatter;
}

class TaskMaker {
 public:
  TaskMaker(const Settings& settings, const Groups& groups)
      : s_(settings), groups_(groups), random_(settings.seed, kTasks) {}

  Task make(uint32_t index) {
    Task task;
    task.index = index;
    task.group = s_.pattern == Pattern::kTorchrec
                     ? index % 2
                     : static_cast<uint32_t>(random_.below(groups_.size()));
    task.kind = kind_for(task);
    const auto members = static_cast<uint32_t>(groups_[task.group].size());
    choose_numbers(task, members);
    if (is_rooted(task.kind)) task.root = static_cast<uint32_t>(random_.below(members));
    choose_blocks(task, members);
    task.in_place = task.kind != CollectiveKind::kAllToAll && random_.one_in(3);
    return task;
  }

 private:
  CollectiveKind kind_for(const Task& task) {
    if (s_.pattern == Pattern::kTorchrec) {
      return task.group == 0 ? CollectiveKind::kAllToAll : CollectiveKind::kAllReduce;
    }
    CollectiveKind kind = CollectiveKind::kSendRecv;
    while (kind == CollectiveKind::kSendRecv) {
      kind = static_cast<CollectiveKind>(random_.below(kNumCollectiveKinds));
    }
    return kind;
  }

  void choose_numbers(Task& task, uint32_t members) {
    do {
      task.type = static_cast<DataType>(random_.below(kNumDataTypes));
    } while (size_of(task.type) == 1 && members > kMostRanksOfBytes);
    do {
      task.op = static_cast<Op>(random_.below(kNumOps));
    } while (!valid(task.type, task.op));
    if (!is_reducing(task.kind)) task.op = Op::kSum;
  }

  // Sizes are spread evenly over their logarithm; one in sixteen has nothing to move.
  void choose_blocks(Task& task, uint32_t members) {
    task.blocks.assign(members, 0);
    if (task.kind == CollectiveKind::kBarrier || random_.one_in(16)) return;
    const double largest = std::log2(static_cast<double>(s_.max_bytes) / 8);
    const auto bytes = static_cast<uint64_t>(8 * std::exp2(largest * random_.fraction()));
    const uint64_t elems = std::max<uint64_t>(bytes / size_of(task.type), 1);
    task.is_uneven = may_be_uneven(task.kind) && random_.one_in(3);
    for (uint64_t& block : task.blocks) {
      block = elems / members + (elems < members ? 1 : 0);
      if (task.is_uneven) block = random_.below(2 * block + 1);
    }
  }

  const Settings& s_;
  const Groups& groups_;
  Random random_;
};

// Whether the rank does its all_to_alls first: half of the ranks do, others in each round.
bool exchanges_first(const Settings& s, uint64_t round, uint32_t rank) {
  return (rank + round + s.seed) % 2 == 0;
}

}  // namespace

uint64_t Task::row() const { return std::accumulate(blocks.begin(), blocks.end(), uint64_t{0}); }

std::string Task::name() const { return fmt::format("c{}", index); }

std::string Task::describe() const {
  const std::string_view op_name = is_reducing(kind) ? to_string(op) : std::string_view();
  return fmt::format("{}{}{} {} of {} {}{}{} on group {}", to_string(kind),
                     op_name.empty() ? "" : " ", op_name, name(), row(), to_string(type),
                     is_uneven ? ", uneven" : "", in_place ? ", in place" : "", group);
}

Workload make_workload(const Settings& settings) {
  Workload workload;
  workload.groups = groups_for(settings);
  TaskMaker maker(settings, workload.groups);
  for (uint32_t i = 0; i < settings.num_collectives; ++i) workload.tasks.push_back(maker.make(i));
  return workload;
}

std::vector<uint32_t> issue_order(const Settings& s, const Workload& workload, uint32_t rank,
                                  const Batch& batch) {
  std::vector<uint32_t> order(batch.last - batch.first);
  std::iota(order.begin(), order.end(), batch.first);
  const bool one_order = batch.order == Order::kOne;
  const bool is_shared = one_order || s.pattern == Pattern::kLatin;
  Random random(s.seed, kOrders, batch.round * s.num_collectives + batch.first,
                is_shared ? 0 : rank + 1);
  random.shuffle(order);
  if (!one_order && s.pattern == Pattern::kLatin) {
    std::rotate(order.begin(), order.begin() + rank % order.size(), order.end());
  }
  if (!one_order && s.pattern == Pattern::kTorchrec) {
    const uint32_t first_group = exchanges_first(s, batch.round, rank) ? 0 : 1;
    std::stable_partition(order.begin(), order.end(), [&](uint32_t index) {
      return workload.tasks[index].group == first_group;
    });
  }
  std::erase_if(order, [&](uint32_t index) {
    const std::vector<uint32_t>& members = workload.groups[workload.tasks[index].group];
    return std::find(members.begin(), members.end(), rank) == members.end();
  });
  return order;
}

}  // namespace tutti::tools::chaos
