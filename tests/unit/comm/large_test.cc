// Counts beyond 2^31. Takes 4.3 GiB, so it is run where the memory is, once: in the plain build.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "engine/step.h"
#include "tests/support/sanitized.h"
#include "tests/unit/comm/on_ranks.h"
#include "tutti/communicator.h"

namespace tutti {
namespace {

using test::on_ranks;

uint64_t available_kib() {
  std::ifstream facts("/proc/meminfo");
  std::string name;
  uint64_t kib = 0;
  std::string unit;
  while (facts >> name >> kib >> unit) {
    if (name == "MemAvailable:") return kib;
  }
  return 0;
}

TEST(Large, CountsBeyondTwoToTheThirtyOneAreExact) {
  constexpr uint64_t kBlock = (uint64_t{1} << 30) + 4;
  constexpr uint64_t kNeededKib = uint64_t{8} << 20;
  if (test::kSanitized || engine::kPreemptAlways) GTEST_SKIP() << "run in the plain build";
  if (available_kib() < kNeededKib) {
    GTEST_SKIP() << "not run: needs 8 GiB of free memory, there are " << available_kib() << " KiB";
  }
  const auto element = [](uint64_t i) { return static_cast<int8_t>(i % 127 + (i >> 31) * 64); };
  // One element in so many is set and looked at, and the last of each block; the rest is zero.
  constexpr uint64_t kStride = 4099;
  const auto num_wrong = [&](const std::vector<int8_t>& data) {
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < data.size(); i += kStride) wrong += data[i] != element(i);
    for (const uint64_t i : {kBlock - 1, 2 * kBlock - 1}) wrong += data[i] != element(i);
    return wrong;
  };
  on_ranks(2, [&](Communicator& comm) {
    std::vector<int8_t> data(2 * kBlock);
    const auto own = std::span(data).subspan(comm.rank() * kBlock, kBlock);
    const uint64_t first = comm.rank() * kBlock;
    for (uint64_t i = (first + kStride - 1) / kStride * kStride; i < first + kBlock; i += kStride) {
      data[i] = element(i);
    }
    own.back() = element(first + kBlock - 1);
    ASSERT_TRUE(comm.all_gather(std::span<const int8_t>(own), std::span(data)).wait());
    ASSERT_EQ(num_wrong(data), 0u);
    if (comm.rank() == 1) data.assign(data.size(), 0);
    ASSERT_TRUE(comm.barrier().wait());
    Work message = comm.rank() == 0 ? comm.send(std::span(data), 1) : comm.recv(std::span(data), 0);
    ASSERT_TRUE(message.wait());
    ASSERT_EQ(num_wrong(data), 0u);
  });
}

}  // namespace
}  // namespace tutti
