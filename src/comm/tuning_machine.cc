// Linux says what the processor is in a text for people; where it does not, the model is unknown.
#include <sched.h>

#include <fstream>
#include <string>

#include "comm/tuning.h"

namespace tutti::comm {
namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

TuningMachine this_machine() {
  cpu_set_t set;
  const bool is_known = sched_getaffinity(0, sizeof set, &set) == 0;
  return {cpu_model(), is_known ? static_cast<uint32_t>(CPU_COUNT(&set)) : 1};
}

}  // namespace tutti::comm
