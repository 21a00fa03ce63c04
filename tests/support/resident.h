// How much memory of this process is resident, for tests that nothing grows.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace tutti::test {

[[nodiscard]] inline size_t resident_bytes() {
  size_t all_pages = 0;
  size_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> all_pages >> resident_pages;
  return resident_pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace tutti::test
