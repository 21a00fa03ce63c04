// Plans a ring all-reduce, proves it, and asks how long it takes on a DGX-1V.
#include <tutti/tutti.h>

#include <cstdio>

int main() {
  const auto machine = tutti::Topology::open("dgx-1v").value();
  const tutti::Collective all_reduce{tutti::CollectiveKind::kAllReduce, machine.num_ranks()};

  const auto schedule = tutti::Schedule::plan(all_reduce, "ring").value();
  const auto proved = schedule.verify().value();
  const auto ring = tutti::simulate(proved, machine, {.bytes = 64 << 20}).value();
  const auto best = tutti::Schedule::plan_fastest(all_reduce, machine, 64 << 20).value();

  std::printf("ring: %llu steps, %.0f us for 64 MiB (bound %.0f us)\n",
              static_cast<unsigned long long>(schedule.num_steps()), ring.time_ns / 1e3,
              ring.lower_bound_ns / 1e3);
  std::printf("best: %s\n", best.reason.c_str());
}
