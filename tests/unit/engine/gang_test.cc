// Runners as the blocks of GPU kernels are: each runs one operation at a time, and an operation
// goes on only when the runner before it in a ring has. What the agreed order is good for there.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "engine/task_queue.h"

namespace tutti::engine {
namespace {

enum class Order { kOwn, kAgreed };

// Every runner issues all operations in an order of its own, then hears of the others', and has
// turns when the seed says.
class Gang {
 public:
  static constexpr uint32_t kRunners = 8;
  static constexpr uint32_t kOperations = 16;
  static constexpr uint32_t kSteps = 14;

  Gang(Patience patience, Order order, uint64_t seed)
      : random_(seed), runners_(kRunners, Runner(patience)) {
    for (Runner& runner : runners_) issue(runner);
    for (Runner& runner : runners_) listen(runner, order);
  }

  void run() {
    uint32_t left = kRunners * kOperations;
    while (left > 0) {
      ++now_;
      const size_t r = random_() % kRunners;
      Runner& runner = runners_[r];
      Task* const task = runner.queue.next();
      if (task == nullptr) continue;
      const size_t op = static_cast<size_t>(task - runner.tasks.data());
      const Runner& previous = runners_[(r + kRunners - 1) % kRunners];
      const bool moved = previous.steps[op] >= runner.steps[op];
      runner.queue.ran(*task, moved);
      if (!moved || ++runner.steps[op] < kSteps) continue;
      runner.queue.remove(*task);
      runner.queue.end(*task);
      runner.ended[op] = now_;
      --left;
    }
  }

  // Turns of one runner until an operation ended, on average.
  [[nodiscard]] uint64_t mean_end() const {
    uint64_t sum = 0;
    for (const Runner& runner : runners_) {
      for (const uint64_t end : runner.ended) sum += end;
    }
    return sum / kRunners / kOperations / kRunners;
  }
  // Pairs that did not end in the same order on all runners.
  [[nodiscard]] uint64_t num_discordant() const {
    uint64_t pairs = 0;
    for (uint32_t a = 0; a < kOperations; ++a) {
      for (uint32_t b = 0; b < a; ++b) {
        const auto a_first = std::count_if(runners_.begin(), runners_.end(), [&](const Runner& r) {
          return r.ended[a] < r.ended[b];
        });
        pairs += a_first != 0 && a_first != kRunners ? 1 : 0;
      }
    }
    return pairs;
  }
  [[nodiscard]] uint64_t switches() const {
    uint64_t sum = 0;
    for (const Runner& runner : runners_) sum += runner.queue.switches();
    return sum;
  }
  [[nodiscard]] uint32_t most_switches() const {
    uint32_t most = 0;
    for (const Runner& runner : runners_) {
      for (const Task& task : runner.tasks) most = std::max(most, task.switches);
    }
    return most;
  }

 private:
  struct Runner {
    explicit Runner(Patience patience) : queue(patience) {}
    TaskQueue queue;
    StampClock clock;
    std::vector<Task> tasks = std::vector<Task>(kOperations);
    std::vector<size_t> order;
    std::vector<uint32_t> stamps = std::vector<uint32_t>(kOperations);
    std::vector<uint32_t> steps = std::vector<uint32_t>(kOperations);
    std::vector<uint64_t> ended = std::vector<uint64_t>(kOperations);
  };

  void issue(Runner& runner) {
    for (size_t op = 0; op < kOperations; ++op) runner.order.push_back(op);
    std::shuffle(runner.order.begin(), runner.order.end(), random_);
    for (const size_t op : runner.order) {
      runner.stamps[op] = runner.clock.issue();
      runner.queue.start(runner.tasks[op], op, runner.stamps[op]);
    }
  }
  void listen(Runner& runner, Order order) {
    for (const size_t op : runner.order) {
      for (const Runner& other : runners_) runner.clock.hear(runner.tasks[op], other.stamps[op]);
      if (order == Order::kAgreed) runner.queue.agree(runner.tasks[op]);
      runner.queue.add(runner.tasks[op]);
    }
  }

  std::mt19937_64 random_;
  std::vector<Runner> runners_;
  uint64_t now_ = 0;
};

struct Sums {
  uint64_t discordant = 0;
  uint64_t switches = 0;
  uint64_t mean_end = 0;
};

Sums sums_of(Patience patience, Order order) {
  Sums sums;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Gang gang(patience, order, seed);
    gang.run();
    EXPECT_LE(gang.most_switches(), Gang::kSteps) << "seed " << seed;
    sums.discordant += gang.num_discordant();
    sums.switches += gang.switches();
    sums.mean_end += gang.mean_end();
  }
  return sums;
}

// Of the 120 pairs, in their own orders nine in ten are discordant; in the agreed one, one in ten.
TEST(Gang, TheAgreedOrderMakesOneOrderOfManyAndEndsOperationsEarlier) {
  for (const Patience patience : {Patience{8, 0}, Patience{8, 4}}) {
    const Sums own = sums_of(patience, Order::kOwn);
    const Sums agreed = sums_of(patience, Order::kAgreed);
    EXPECT_LT(4 * agreed.discordant, own.discordant);
    EXPECT_LT(agreed.switches, own.switches);
    EXPECT_LT(10 * agreed.mean_end, 9 * own.mean_end);
  }
}

TEST(Gang, PatienceTakesTheSwitchesOfTaskByTask) {
  EXPECT_LT(3 * sums_of({8, 4}, Order::kAgreed).switches,
            2 * sums_of({1, 0}, Order::kAgreed).switches);
}

}  // namespace
}  // namespace tutti::engine
