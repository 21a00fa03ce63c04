// A user's program: plans a collective, has it proved, and asks how long it takes.
#include <tutti/tutti.h>

#include <cstdio>

int main() {
  const tutti::Collective collective{.kind = tutti::CollectiveKind::kAllReduce, .num_ranks = 8};
  const auto schedule = tutti::Schedule::plan(collective, "ring").value();
  const auto proved = schedule.verify().value();
  const auto machine = tutti::Topology::open("dgx-1v").value();
  const auto answer = tutti::simulate(proved, machine, {.bytes = 1 << 20}).value();
  std::printf("%s of %llu steps: %.0f ns, at least %.0f ns\n", schedule.algorithm().c_str(),
              static_cast<unsigned long long>(schedule.num_steps()), answer.time_ns,
              answer.lower_bound_ns);
  return answer.time_ns >= answer.lower_bound_ns && answer.lower_bound_ns > 0 ? 0 : 1;
}
