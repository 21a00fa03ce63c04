// Every collective with every type, operator and number of ranks, and with sizes around every limit
// of the engine, compared with a plain reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "engine/cpu/engine.h"
#include "tests/support/sanitized.h"
#include "tests/unit/comm/on_ranks.h"
#include "tests/unit/comm/ranks.h"
#include "tests/unit/comm/trial.h"
#include "tutti/communicator.h"

namespace tutti {
namespace {

using test::Case;
using test::check;
using test::kBlockKinds;
using test::kSanitized;
using test::on_ranks;
using test::Ranks;

template <class... Ts>
struct Types {};
using AllTypes = Types<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t,
                       Float16, BFloat16, float, double, Float8E4M3, Float8E5M2>;

class Matrix : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Matrix, testing::Values(1, 2, 3, 4, 5, 7, 8, 13));

constexpr CollectiveKind kReducing[] = {CollectiveKind::kAllReduce, CollectiveKind::kReduce,
                                        CollectiveKind::kReduceScatter};
constexpr CollectiveKind kAll[] = {CollectiveKind::kAllReduce,     CollectiveKind::kReduce,
                                   CollectiveKind::kBroadcast,     CollectiveKind::kAllGather,
                                   CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll,
                                   CollectiveKind::kGather,        CollectiveKind::kScatter};

// Small enough for packets, and through memory.
template <class T>
void check_type(Communicator& comm) {
  const uint32_t n = comm.num_ranks();
  uint32_t round = 0;
  for (const uint64_t count : {uint64_t{5}, uint64_t{1100}}) {
    Case what{.counts = std::vector<uint64_t>(n, count)};
    for (const CollectiveKind kind : kReducing) {
      what.kind = kind;
      for (int op = 0; op < kNumOps; ++op) {
        what.op = static_cast<Op>(op);
        if (!valid(data_type_of<T>, what.op)) continue;
        what.root = ++round % n;
        what.in_place = round % 2 == 0;
        check<T>(comm, what);
      }
    }
    what.op = Op::kMax;  // numbers that differ from rank to rank
    for (const CollectiveKind kind : kAll) {
      what.kind = kind;
      what.root = ++round % n;
      what.in_place = round % 2 == 0;
      check<T>(comm, what);
    }
  }
}

template <class... Ts>
void check_types(Communicator& comm, Types<Ts...> /*types*/) {
  (check_type<Ts>(comm), ...);
}

TEST_P(Matrix, OfEveryTypeAndOperator) {
  using Tried = std::conditional_t<kSanitized, Types<int8_t, uint64_t, Float16, float>, AllTypes>;
  on_ranks(GetParam(), [](Communicator& comm) { check_types(comm, Tried{}); });
}

// Elements of a block whose bytes are around a limit, or around it once a rank: what a collective
// cuts into a piece a rank meets the limit there.
std::vector<uint64_t> counts_around_limits(uint64_t elem_bytes, uint64_t n) {
  constexpr uint64_t kLimits[] = {472, 2048, 32 * 1024, 64 * 1024, 256 * 1024};
  std::vector<uint64_t> counts{0, 1, 2, 3};
  for (const uint64_t limit : kLimits) {
    const uint64_t at = limit / elem_bytes;
    for (const uint64_t count : {at - 1, at, at + 1}) counts.push_back(count);
    if (limit <= 2048) {
      for (const uint64_t count : {n * at - 1, n * at, n * at + 1}) counts.push_back(count);
    }
  }
  if (kSanitized) {
    std::erase_if(counts, [&](uint64_t count) { return count * elem_bytes > 40 * 1024; });
  }
  return counts;
}

template <class T>
void check_sizes(Communicator& comm) {
  const uint32_t n = comm.num_ranks();
  uint32_t round = 0;
  for (const uint64_t count : counts_around_limits(sizeof(T), n)) {
    for (const CollectiveKind kind : kAll) {
      const bool reduces = is_reducing(kind);
      Case what{.kind = kind, .op = reduces ? Op::kSum : Op::kMax};
      what.counts.assign(n, count);
      what.root = ++round % n;
      what.in_place = round % 2 == 0;
      check<T>(comm, what);
      const bool has_blocks = std::count(std::begin(kBlockKinds), std::end(kBlockKinds), kind) != 0;
      if (!has_blocks || count > 10'000) continue;
      for (uint32_t r = 0; r < n; ++r) what.counts[r] = count * (r % 3) / 2;
      what.is_uneven = true;
      check<T>(comm, what);
    }
    ASSERT_TRUE(comm.barrier().wait());
  }
}

TEST_P(Matrix, OfEverySizeAroundALimit) {
  on_ranks(GetParam(), [](Communicator& comm) {
    check_sizes<int64_t>(comm);
    check_sizes<uint8_t>(comm);
  });
}

// Packets, mirrors, what is lent; and ranks whose memory is of one kind among ranks with the other.
void check_shared(Communicator& comm) {
  const uint32_t n = comm.num_ranks();
  uint32_t round = 0;
  for (const uint64_t count : {5u, 1100u, 8193u, kSanitized ? 0u : 40'000u}) {
    for (const CollectiveKind kind : kAll) {
      for (const bool in_place : {false, true}) {
        Case what{.kind = kind, .counts = std::vector<uint64_t>(n, count), .in_place = in_place};
        what.root = ++round % n;
        what.is_shared = (comm.rank() + round) % 3 != 0;
        check<int64_t>(comm, what);
      }
    }
  }
}

class SharedMatrix : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Ranks, SharedMatrix, testing::Values(1, 2, 3, 5));

TEST_P(SharedMatrix, OfProcessesWithBuffersFromTheLibrary) {
  Ranks ranks = Ranks::processes(GetParam());
  on_ranks(ranks.comms(), check_shared);
}

// Two processes pull what they swap, from a size of a rank's input on.
void check_swaps(Communicator& comm) {
  constexpr uint64_t kAt = engine::kLeastSwapped / sizeof(int64_t);
  // A block is half of all_to_all's input. The last is more than a tile.
  for (const uint64_t count : {kAt / 2 - 1, kAt / 2, kAt - 1, kAt, kAt + 1, 20 * kAt + 3}) {
    for (const CollectiveKind kind : {CollectiveKind::kAllGather, CollectiveKind::kAllToAll}) {
      for (const bool in_place : {false, true}) {
        check<int64_t>(comm, {.kind = kind, .counts = {count, count}, .in_place = in_place});
      }
    }
  }
}

// Often enough that every way of the memory between processes is taken: mirrors through the caches
// and past them, and pulling (engine/ways.h).
void check_ways(Communicator& comm) {
  constexpr uint64_t kCount = 2 * engine::kLeastLearned / sizeof(int64_t) + 3;
  for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                    CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll}) {
    constexpr engine::Ways::Effort kEffort;
    for (uint32_t i = 0; i < engine::Ways::kWarmUps + 3 * kEffort.calls * kEffort.rows + 4; ++i) {
      check<int64_t>(comm, {.kind = kind, .counts = {kCount, kCount}, .in_place = i % 5 == 0});
    }
  }
}

TEST(Ways, OfTwoProcessesAreTakenAllWithTheSameResults) {
  Ranks ranks = Ranks::processes(2);
  on_ranks(ranks.comms(), check_ways);
}

TEST(Swaps, OfTwoProcessesAroundTheSizesThatTheySwap) {
  Ranks ranks = Ranks::processes(2);
  on_ranks(ranks.comms(), check_swaps);
}

}  // namespace
}  // namespace tutti
