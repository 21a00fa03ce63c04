#include "ir/sizes.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tutti::ir {
namespace {

Layout make_sized(CollectiveKind kind, uint32_t num_ranks, uint32_t chunks) {
  return Layout::create({kind, num_ranks, 0, 0}, chunks).value();
}

uint64_t sum_of_chunks(const Layout& layout, const Sizes& sizes) {
  uint64_t total = 0;
  for (uint32_t c = 0; c < layout.num_chunks(); ++c) total += sizes.chunk_elems(ChunkId{c});
  return total;
}

TEST(Sizes, PiecesCoverTheRowAndDifferByAtMostOne) {
  for (uint64_t total : {0, 1, 2, 7, 64, 97}) {
    for (uint64_t pieces : {1, 2, 3, 7, 8, 97, 100}) {
      uint64_t sum = 0;
      for (uint64_t i = 0; i < pieces; ++i) {
        EXPECT_EQ(piece_begin(total, pieces, i), total * i / pieces);
        EXPECT_GE(piece_size(total, pieces, i), total / pieces);
        EXPECT_LE(piece_size(total, pieces, i), total / pieces + 1);
        sum += piece_size(total, pieces, i);
      }
      EXPECT_EQ(sum, total);
    }
  }
}

TEST(Sizes, PiecesOfARowNearTwoToThe63DoNotOverflow) {
  const uint64_t total = (uint64_t{1} << 63) - 1;
  EXPECT_EQ(piece_begin(total, 3, 3), total);
  EXPECT_EQ(piece_begin(total, UINT32_MAX, UINT32_MAX), total);
  EXPECT_EQ(piece_size(total, 3, 0) + piece_size(total, 3, 1) + piece_size(total, 3, 2), total);
}

TEST(Sizes, EvenChunksAddUpToTheMessage) {
  for (uint64_t elems : {0, 1, 5, 12, 13, 101}) {
    for (uint32_t chunks : {1, 3, 4}) {
      const Layout one = make_sized(CollectiveKind::kAllReduce, 5, chunks);
      EXPECT_EQ(sum_of_chunks(one, Sizes::even(one, elems)), elems);
      const Layout row = make_sized(CollectiveKind::kAllGather, 5, chunks);
      EXPECT_EQ(sum_of_chunks(row, Sizes::even(row, elems)), elems);
      // The length is that of one rank's input; there are five of them.
      const Layout square = make_sized(CollectiveKind::kAllToAll, 5, chunks);
      EXPECT_EQ(sum_of_chunks(square, Sizes::even(square, elems)), 5 * elems);
    }
  }
}

TEST(Sizes, AnyChunkIsAsLargeAsTheLargest) {
  for (uint64_t elems : {0, 1, 5, 12, 13, 101}) {
    for (CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllToAll}) {
      const Layout layout = make_sized(kind, 3, 4);
      const Sizes sizes = Sizes::even(layout, elems);
      uint64_t largest = 0;
      for (uint32_t c = 0; c < layout.num_chunks(); ++c) {
        largest = std::max(largest, sizes.chunk_elems(ChunkId{c}));
      }
      EXPECT_EQ(sizes.chunk_elems(kAnyChunk), largest) << elems;
    }
  }
}

TEST(Sizes, UnevenBlocksKeepTheirCounts) {
  const Layout layout = make_sized(CollectiveKind::kAllGather, 4, 2);
  const Sizes sizes = Sizes::uneven(layout, {0, 7, 1, 100}).value();
  EXPECT_EQ(sizes.block_elems(1), 7u);
  EXPECT_EQ(sizes.chunk_elems(ChunkId{0}), 0u);
  EXPECT_EQ(sizes.chunk_elems(ChunkId{2}) + sizes.chunk_elems(ChunkId{3}), 7u);
  EXPECT_EQ(sizes.chunk_elems(kAnyChunk), 50u);
}

TEST(Sizes, BarrierHasNoCountsAndNoSize) {
  const Layout layout = make_sized(CollectiveKind::kBarrier, 4, 1);
  EXPECT_EQ(Sizes::even(layout, 0).chunk_elems(kAnyChunk), 0u);
  EXPECT_EQ(Sizes::uneven(layout, {}).value().chunk_elems(kAnyChunk), 0u);
}

TEST(Sizes, RefusesAWrongNumberOfCountsAndASumThatOverflows) {
  const Layout layout = make_sized(CollectiveKind::kAllGather, 2, 1);
  EXPECT_FALSE(Sizes::uneven(layout, {1}));
  EXPECT_FALSE(Sizes::uneven(layout, {1, 2, 3}));
  EXPECT_FALSE(Sizes::uneven(layout, {uint64_t{1} << 62, uint64_t{1} << 62}));
  EXPECT_TRUE(Sizes::uneven(layout, {uint64_t{1} << 62, (uint64_t{1} << 62) - 1}));
}

}  // namespace
}  // namespace tutti::ir
