// How long a new plan takes after a link has failed: packed anew, and repaired; and how fast the
// trees are then, against the bound. CPU time of one thread. A model: nothing runs on GPUs.
//
//   replan_bench [MACHINE COLLECTIVE FAILURE]...
#include <fmt/format.h>

#include <ctime>
#include <string>
#include <vector>

#include "plan/packing/pack.h"
#include "plan/packing/repair.h"
#include "plan/packing/tree_schedule.h"
#include "topo/open.h"
#include "topo/variants.h"

namespace tutti {
namespace {

using plan::packing::Packing;

struct Case {
  std::string machine;
  std::string collective;
  std::string failure;
};

constexpr const char* kRow =
    "{:<9} {:<11} {:<30} {:>7} {:>7} {:>7} {:>9} {:>9} {:>7} {:>9} {:>6}\n";

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

void run(const Case& what) {
  const topo::Topology machine = topo::open(what.machine).value();
  const topo::Topology now =
      topo::change_link(machine, topo::parse_link_change(what.failure).value()).value();
  const Collective collective{parse_collective_kind(what.collective).value(), machine.num_ranks()};
  const Packing before = plan::packing::pack(collective, machine).value();

  double begin = cpu_ms();
  const Packing anew = plan::packing::pack(collective, now).value();
  const double anew_ms = cpu_ms() - begin;

  begin = cpu_ms();
  const auto repaired = plan::packing::repair(collective, before.trees, now).value();
  const double repair_ms = cpu_ms() - begin;
  const auto schedule =
      plan::packing::tree_schedule(collective, repaired.trees, {"packed", 4}).value();
  const double with_schedule_ms = cpu_ms() - begin;

  fmt::print(kRow, what.machine, what.collective, what.failure,
             fmt::format("{:.1f}", before.routed_gbps), fmt::format("{:.1f}", anew.bound_gbps),
             fmt::format("{:.1f}", anew.routed_gbps), fmt::format("{:.1f}", anew_ms),
             fmt::format("{:.1f}", repaired.routed_gbps), fmt::format("{:.2f}", repair_ms),
             fmt::format("{:.2f}", with_schedule_ms - repair_ms),
             fmt::format("{:.2f}", repaired.routed_gbps / anew.routed_gbps));
  if (ir::num_steps(schedule) == 0) fmt::print("no steps\n");
  std::fflush(stdout);
}

int main_of(const std::vector<std::string>& words) {
  std::vector<Case> cases;
  for (size_t i = 0; i + 2 < words.size(); i += 3) {
    cases.push_back({words[i], words[i + 1], words[i + 2]});
  }
  if (cases.empty()) {
    for (const char* const collective : {"broadcast", "all_gather", "all_reduce"}) {
      for (const char* const failure : {"gpu0~gpu3", "gpu0~gpu1", "gpu0~gpu4=0.5"}) {
        cases.push_back({"dgx-1v", collective, failure});
      }
    }
    cases.push_back({"dgx-2*2", "broadcast", "node0/gpu0~node0/nvswitch=0.5"});
    cases.push_back({"dgx-2*2", "broadcast", "node0/nic0~fabric"});
    cases.push_back({"dgx-2*2", "all_gather", "node0/nic0~fabric"});
  }
  fmt::print(kRow, "machine", "collective", "failure", "before", "bound", "anew", "ms", "repaired",
             "ms", "schedule", "ratio");
  for (const Case& what : cases) run(what);
  return 0;
}

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
  return tutti::main_of(std::vector<std::string>(argv + 1, argv + argc));
}
