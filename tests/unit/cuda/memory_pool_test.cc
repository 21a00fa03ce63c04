#include "engine/cuda/memory_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/thread_device.h"

namespace tutti::test {
namespace {

using engine::cuda::MemoryPool;
using Piece = MemoryPool::Piece;

constexpr uint64_t kSlab = 64 * 1024;

TEST(MemoryPool, WhatIsGivenBackIsUsedAgain) {
  ThreadDevice device;
  MemoryPool pool(device, {.slab_bytes = kSlab});
  for (int i = 0; i < 1000; ++i) {
    const Piece large = pool.take(kSlab / 2, 0).value();
    const Piece small = pool.take(1 + static_cast<uint64_t>(i), 0).value();
    EXPECT_NE(large.at(), small.at());
  }
  EXPECT_EQ(pool.bytes_of_device(), kSlab);
}

TEST(MemoryPool, WhatIsReservedIsTakenAtOnceAndNothingMoreUntilItIsUsedUp) {
  ThreadDevice device;
  MemoryPool pool(device, {.slab_bytes = kSlab});
  ASSERT_TRUE(pool.reserve(4 * kSlab).ok());
  EXPECT_EQ(pool.bytes_of_device(), 4 * kSlab);
  std::vector<Piece> pieces;
  for (uint64_t i = 0; i < 4 * kSlab / 256; ++i) pieces.push_back(pool.take(200, 0).value());
  EXPECT_EQ(pool.bytes_of_device(), 4 * kSlab);
  pieces.push_back(pool.take(1, 0).value());
  EXPECT_EQ(pool.bytes_of_device(), 5 * kSlab);
}

TEST(MemoryPool, NeighboursThatAreGivenBackAreOnePieceAgain) {
  ThreadDevice device;
  MemoryPool pool(device, {.slab_bytes = kSlab});
  std::vector<Piece> pieces;
  for (int i = 0; i < 16; ++i) pieces.push_back(pool.take(kSlab / 16, 0).value());
  std::shuffle(pieces.begin(), pieces.end(), std::mt19937_64(1));
  pieces.clear();
  EXPECT_EQ(pool.take(kSlab, 0).value().bytes(), kSlab);
  EXPECT_EQ(pool.bytes_of_device(), kSlab);
}

// To other processes two slabs are two allocations, wherever they lie.
TEST(MemoryPool, NoPieceIsOfTwoSlabs) {
  ThreadDevice device(Sharing::kAsProcesses);  // whose slabs lie one behind the other
  MemoryPool pool(device, {.slab_bytes = kSlab});
  std::vector<Piece> pieces;
  for (int i = 0; i < 4; ++i) pieces.push_back(pool.take(kSlab, 0).value());
  pieces.clear();
  EXPECT_EQ(pool.bytes_of_device(), 4 * kSlab);
  const Piece both = pool.take(2 * kSlab, 0).value();
  EXPECT_EQ(pool.bytes_of_device(), 6 * kSlab);
}

TEST(MemoryPool, APieceGrowsWhereItIsIfThatIsFree) {
  ThreadDevice device;
  MemoryPool pool(device, {});
  EXPECT_FALSE(pool.take_at_hand(1).has_value());
  ASSERT_TRUE(pool.reserve(kSlab).ok());
  auto piece = pool.take_at_hand(kSlab / 4);
  ASSERT_TRUE(piece.has_value());
  std::byte* const at = piece->at();
  EXPECT_TRUE(piece->extend(kSlab / 2));
  EXPECT_EQ(piece->at(), at);
  EXPECT_EQ(piece->bytes(), kSlab / 2);
  EXPECT_FALSE(piece->extend(kSlab + 1));
  {
    const Piece behind = pool.take(1, 0).value();
    EXPECT_FALSE(piece->extend(kSlab));
  }
  EXPECT_TRUE(piece->extend(kSlab));
  EXPECT_FALSE(pool.take_at_hand(1).has_value());
  piece.reset();
  EXPECT_EQ(pool.take(kSlab, 0).value().at(), at);
  EXPECT_EQ(pool.bytes_of_device(), kSlab);
}

TEST(MemoryPool, WhatIsAskedToBeCleanIs) {
  for (const auto kind : {MemoryPool::Kind::kDevice, MemoryPool::Kind::kShared}) {
    ThreadDevice device;
    MemoryPool pool(device, {.kind = kind, .slab_bytes = kSlab});
    for (int i = 0; i < 3; ++i) {
      const Piece piece = pool.take(1000, 600).value();
      EXPECT_EQ(std::count(piece.at(), piece.at() + 600, std::byte{0}), 600);
      std::memset(piece.at(), 0xff, 1000);
    }
  }
}

TEST(MemoryPool, WhatIsAbandonedIsNeverUsedAgain) {
  ThreadDevice device;
  MemoryPool pool(device, {.slab_bytes = kSlab});
  const std::byte* const left = [&] {
    Piece piece = pool.take(300, 0).value();
    piece.abandon();
    return piece.at();
  }();
  std::vector<Piece> pieces;
  for (int i = 0; i < 1000; ++i) {
    pieces.push_back(pool.take(200, 0).value());
    const std::byte* const at = pieces.back().at();
    EXPECT_TRUE(at + 200 <= left || at >= left + 300);
  }
}

TEST(MemoryPool, PiecesThatComeAndGoInAnyOrderAreNeverInEachOthersPlace) {
  ThreadDevice device;
  MemoryPool pool(device, {.slab_bytes = kSlab, .align = 64});
  std::mt19937_64 random(3);
  std::map<std::byte*, Piece> taken;
  uint64_t bytes = 0;
  uint64_t most_bytes = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (taken.size() > random() % 100) {
      const auto gone = std::next(taken.begin(), static_cast<ptrdiff_t>(random() % taken.size()));
      bytes -= gone->second.bytes();
      taken.erase(gone);
    }
    Piece piece = pool.take(1 + random() % 3000, 0).value();
    ASSERT_EQ(reinterpret_cast<uintptr_t>(piece.at()) % 64, 0u);
    const auto behind = taken.lower_bound(piece.at());
    ASSERT_TRUE(behind == taken.end() || piece.at() + piece.bytes() <= behind->first);
    ASSERT_TRUE(behind == taken.begin() ||
                std::prev(behind)->first + std::prev(behind)->second.bytes() <= piece.at());
    bytes += piece.bytes();
    most_bytes = std::max(most_bytes, bytes);
    taken.emplace(piece.at(), std::move(piece));
  }
  // Holes take no more than what is used.
  EXPECT_LE(pool.bytes_of_device(), 2 * most_bytes + kSlab);
}

}  // namespace
}  // namespace tutti::test
