#include "ir/layout.h"

#include <gtest/gtest.h>

namespace tutti::ir {
namespace {

Layout make(CollectiveKind kind, uint32_t num_ranks, uint32_t chunks, uint32_t root = 0,
            uint32_t peer = 0) {
  return Layout::create({kind, num_ranks, root, peer}, chunks).value();
}

TEST(Layout, AllReduceHasOneBlockEverywhere) {
  const Layout layout = make(CollectiveKind::kAllReduce, 5, 3);
  EXPECT_EQ(layout.num_chunks(), 3u);
  for (uint32_t r = 0; r < 5; ++r) {
    EXPECT_EQ(layout.num_chunks(Rank{r}, Buffer::kInput), 3u);
    EXPECT_EQ(layout.num_chunks(Rank{r}, Buffer::kOutput), 3u);
    EXPECT_EQ(layout.chunk_at(Rank{r}, Buffer::kOutput, 2), ChunkId{2});
  }
}

TEST(Layout, RootedCollectivesHaveBuffersWhereTheDataIs) {
  const Layout reduce = make(CollectiveKind::kReduce, 3, 2, 1);
  EXPECT_EQ(reduce.num_chunks(Rank{0}, Buffer::kInput), 2u);
  EXPECT_EQ(reduce.num_chunks(Rank{0}, Buffer::kOutput), 0u);
  EXPECT_EQ(reduce.num_chunks(Rank{1}, Buffer::kOutput), 2u);
  const Layout broadcast = make(CollectiveKind::kBroadcast, 3, 2, 1);
  EXPECT_EQ(broadcast.num_chunks(Rank{0}, Buffer::kInput), 0u);
  EXPECT_EQ(broadcast.num_chunks(Rank{1}, Buffer::kInput), 2u);
  EXPECT_EQ(broadcast.num_chunks(Rank{0}, Buffer::kOutput), 2u);
  const Layout scatter = make(CollectiveKind::kScatter, 3, 2, 2);
  EXPECT_EQ(scatter.num_chunks(Rank{0}, Buffer::kInput), 0u);
  EXPECT_EQ(scatter.num_chunks(Rank{2}, Buffer::kInput), 6u);
  EXPECT_EQ(scatter.chunk_at(Rank{1}, Buffer::kOutput, 1), ChunkId{3});
  const Layout gather = make(CollectiveKind::kGather, 3, 2, 2);
  EXPECT_EQ(gather.num_chunks(Rank{0}, Buffer::kOutput), 0u);
  EXPECT_EQ(gather.num_chunks(Rank{2}, Buffer::kOutput), 6u);
  EXPECT_EQ(gather.chunk_at(Rank{1}, Buffer::kInput, 0), ChunkId{2});
}

TEST(Layout, SendRecvHasInputAtTheRootAndOutputAtThePeer) {
  const Layout layout = make(CollectiveKind::kSendRecv, 4, 5, 3, 1);
  EXPECT_EQ(layout.num_chunks(), 5u);
  for (uint32_t r = 0; r < 4; ++r) {
    EXPECT_EQ(layout.num_chunks(Rank{r}, Buffer::kInput), r == 3 ? 5u : 0u);
    EXPECT_EQ(layout.num_chunks(Rank{r}, Buffer::kOutput), r == 1 ? 5u : 0u);
  }
}

TEST(Layout, GatheringAndScatteringNameBlocksByRank) {
  const Layout gathered = make(CollectiveKind::kAllGather, 3, 2);
  EXPECT_EQ(gathered.num_chunks(Rank{1}, Buffer::kInput), 2u);
  EXPECT_EQ(gathered.chunk_at(Rank{1}, Buffer::kInput, 1), ChunkId{3});
  EXPECT_EQ(gathered.chunk_at(Rank{1}, Buffer::kOutput, 5), ChunkId{5});
  const Layout scattered = make(CollectiveKind::kReduceScatter, 3, 2);
  EXPECT_EQ(scattered.chunk_at(Rank{2}, Buffer::kInput, 1), ChunkId{1});
  EXPECT_EQ(scattered.chunk_at(Rank{2}, Buffer::kOutput, 1), ChunkId{5});
}

TEST(Layout, AllToAllTransposesBlocks) {
  const Layout layout = make(CollectiveKind::kAllToAll, 3, 2);
  EXPECT_EQ(layout.num_blocks(), 9u);
  for (uint32_t i = 0; i < 3; ++i) {
    for (uint32_t j = 0; j < 3; ++j) {
      for (uint32_t part = 0; part < 2; ++part) {
        EXPECT_EQ(layout.chunk_at(Rank{i}, Buffer::kInput, j * 2 + part),
                  layout.chunk_at(Rank{j}, Buffer::kOutput, i * 2 + part));
      }
    }
  }
}

TEST(Layout, EveryChunkOfAnInputAndOfAnOutputIsDifferent) {
  for (int k = 0; k < kNumCollectiveKinds; ++k) {
    const Layout layout = make(static_cast<CollectiveKind>(k), 5, 3, 0, 1);
    for (uint32_t r = 0; r < 5; ++r) {
      for (Buffer buffer : {Buffer::kInput, Buffer::kOutput}) {
        std::vector<bool> seen(layout.num_chunks(), false);
        for (uint32_t i = 0; i < layout.num_chunks(Rank{r}, buffer); ++i) {
          const ChunkId chunk = layout.chunk_at(Rank{r}, buffer, i);
          ASSERT_LT(chunk.value, layout.num_chunks());
          EXPECT_FALSE(seen[chunk.value]);
          seen[chunk.value] = true;
        }
      }
    }
  }
}

TEST(Layout, BarrierHasNoData) {
  const Layout layout = make(CollectiveKind::kBarrier, 4, 1);
  EXPECT_EQ(layout.num_chunks(), 0u);
  EXPECT_EQ(layout.num_chunks(Rank{3}, Buffer::kOutput), 0u);
}

TEST(Layout, RefusesWhatCannotBe) {
  EXPECT_FALSE(Layout::create({CollectiveKind::kAllReduce, 0, 0, 0}, 1));
  EXPECT_FALSE(Layout::create({CollectiveKind::kAllReduce, 1, 0, 0}, 0));
  EXPECT_FALSE(Layout::create({CollectiveKind::kReduce, 4, 4, 0}, 1));
  EXPECT_FALSE(Layout::create({CollectiveKind::kSendRecv, 4, 0, 4}, 1));
}

TEST(Layout, CountsChunksUpToTheLastNumberThatIsNotReserved) {
  EXPECT_TRUE(Layout::create({CollectiveKind::kAllReduce, 2, 0, 0}, UINT32_MAX - 1));
  EXPECT_FALSE(Layout::create({CollectiveKind::kAllReduce, 2, 0, 0}, UINT32_MAX));
  EXPECT_FALSE(Layout::create({CollectiveKind::kAllGather, 2, 0, 0}, UINT32_MAX / 2 + 1));
  EXPECT_TRUE(Layout::create({CollectiveKind::kAllToAll, 65535, 0, 0}, 1));
  EXPECT_FALSE(Layout::create({CollectiveKind::kAllToAll, 65536, 0, 0}, 1));
  EXPECT_FALSE(Layout::create({CollectiveKind::kAllToAll, UINT32_MAX, 0, 0}, 1));
}

}  // namespace
}  // namespace tutti::ir
