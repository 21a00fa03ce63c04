// The figures of docs/reference/memory.md as bounds: nothing grows with the number of calls or of
// communicators that are gone. Sanitizers keep freed memory, so resident bytes are not looked at
// there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/diagnosis/board.h"
#include "comm/diagnosis/report.h"
#include "tests/support/resident.h"
#include "tests/support/sanitized.h"
#include "tests/unit/comm/on_ranks.h"
#include "tutti/communicator.h"

namespace tutti {
namespace {

using test::kSanitized;
using test::on_ranks;
using test::resident_bytes;

constexpr size_t kMiB = size_t{1} << 20;

void expect_grown_by_at_most(size_t bytes, size_t before) {
  if (!kSanitized) {
    EXPECT_LE(resident_bytes(), before + bytes);
  }
}

TEST(Memory, CommunicatorsThatAreGoneLeaveNothing) {
  size_t before = 0;
  on_ranks(2, [&](Communicator& comm) {
    const uint32_t both[] = {0, 1};
    const auto make_and_drop = [&](int num) {
      for (int i = 0; i < num; ++i) {
        Communicator some[] = {comm.duplicate().value(), comm.subset(both).value(),
                               comm.split(0, comm.rank()).value()};
        for (Communicator& one : some) {
          int64_t value = 1;
          one.all_reduce(std::span(&value, 1)).wait().value();
          ASSERT_EQ(value, 2);
        }
      }
    };
    make_and_drop(100);
    if (comm.rank() == 0) before = resident_bytes();
    make_and_drop(kSanitized ? 50 : 1000);
    comm.barrier().wait().value();
    if (comm.rank() == 0) expect_grown_by_at_most(kMiB, before);
  });
}

// Rank 1 calls the other way round, so that both have all of them under way at once.
TEST(Memory, TenThousandOperationsInFlightTakeWhatIsStatedHoweverOften) {
  const size_t num = kSanitized ? 500 : 10'000;
  size_t before = 0;
  on_ranks(2, [&](Communicator& comm) {
    std::vector<int64_t> values(num);
    std::vector<Work> works(num);
    // Two ranks, at most 4 KiB each for an operation, its record at the peer, and its name.
    const size_t stated = 2 * num * 4096;
    const auto round = [&] {
      std::fill(values.begin(), values.end(), 1);
      for (size_t i = 0; i < num; ++i) {
        const size_t at = comm.rank() == 0 ? i : num - 1 - i;
        const std::string name = std::to_string(at);
        works[at] = comm.all_reduce(std::span(&values[at], 1), {.name = name});
      }
      for (Work& work : works) work.wait().value();
      expect_grown_by_at_most(stated, before);
      ASSERT_EQ(std::count(values.begin(), values.end(), 2), static_cast<std::ptrdiff_t>(num));
    };
    comm.barrier().wait().value();
    if (comm.rank() == 0) before = resident_bytes();
    comm.barrier().wait().value();
    // How many records wait at a peer differs from round to round; what is kept for the most does
    // for all.
    for (int i = 0; i < 4; ++i) round();
  });
}

// Whatever a mad rank writes there, whoever reads it gets words and no more.
TEST(MadBoard, IsReadWithinItsBounds) {
  using namespace comm;  // NOLINT(google-build-using-namespace): what reports are made of
  std::mt19937_64 random(17);
  std::vector<uint64_t> memory(transport::kBoardBytes / sizeof(uint64_t));
  for (int round = 0; round < (kSanitized ? 20 : 200); ++round) {
    for (uint64_t& word : memory) word = random() % 3 == 0 ? random() : random() % 5;
    memory[0] = 2 + 2 * (random() % 100);
    std::vector<std::optional<Board>> boards(4);
    for (auto& board : boards) {
      board = read_board(reinterpret_cast<const std::byte*>(memory.data()));
      ASSERT_TRUE(board);
      std::swap(memory[1 + random() % 2000], memory[1 + random() % 2000]);
    }
    const Findings findings = find(std::move(boards), random());
    const std::string report = wait_report(findings, 0);
    for (uint32_t rank = 0; rank < 4; ++rank) (void)describe_rank(findings, rank);
    EXPECT_FALSE(report.empty() && !findings.operations.empty()) << "round " << round;
  }
}

}  // namespace
}  // namespace tutti
