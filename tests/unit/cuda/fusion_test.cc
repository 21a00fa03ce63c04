// What is left of a schedule once its steps are fused: who moves which bytes, from how many places
// to how many. Whether the result is right is for daemon_test.cc to say.
#include "engine/cuda/fusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "engine/cuda/fold.h"
#include "ir/builder.h"
#include "ir/sizes.h"
#include "ir/step.h"
#include "plan/algorithm.h"
#include "verify/check.h"

namespace tutti::engine::cuda {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint32_t kElemBytes = 8;
constexpr uint8_t kOutputNumber = static_cast<uint8_t>(ir::Buffer::kOutput);

// Something that a rank's blocks move: every byte is read from each source and written to each
// destination, once.
struct Move {
  uint64_t bytes = 0;
  uint32_t num_sources = 0;
  uint32_t num_dsts = 0;

  friend bool operator==(const Move&, const Move&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Move& pass) {
    return out << pass.bytes << " bytes, " << pass.num_sources << " to " << pass.num_dsts;
  }
};

std::vector<FusedProgram> fused(const ir::Schedule& schedule, uint64_t elems) {
  const auto layout = ir::Layout::create(schedule.collective, schedule.chunks_per_block).value();
  return fuse(verify::check(schedule).schedule(), ir::Sizes::even(layout, elems), kElemBytes,
              kMostSources);
}

std::vector<FusedProgram> fused(const Collective& collective, std::string_view algorithm,
                                uint64_t elems) {
  return fused(plan::make(collective, algorithm, {}).value(), elems);
}

bool moves(const FusedProgram& rank, size_t step) {
  const StepFusion& how = rank.fusions[step];
  const bool is_send = rank.program.steps[step].kind == static_cast<uint8_t>(ir::StepKind::kSend);
  return !is_send && how.is_deferred == 0 && how.is_given == 0;
}

uint32_t num_sources(const FusedProgram& rank, size_t step) {
  size_t first = step;
  while (first > 0 && rank.fusions[first - 1].is_deferred != 0) --first;
  const auto kind = static_cast<ir::StepKind>(rank.program.steps[first].kind);
  uint32_t num = ir::reads_src(kind) && kind != ir::StepKind::kReduce ? 1 : 0;
  for (size_t i = first; i <= step; ++i) {
    const ProgramStep& it = rank.program.steps[i];
    const bool is_reduce = it.kind == static_cast<uint8_t>(ir::StepKind::kReduce);
    num += it.in != kNoLink || is_reduce ? 1 : 0;
    num += is_reduce && i == first ? 1 : 0;
  }
  return num;
}

std::vector<Move> passes_of(const FusedProgram& rank) {
  std::vector<Move> passes;
  for (size_t i = 0; i < rank.program.steps.size(); ++i) {
    if (!moves(rank, i)) continue;
    const ProgramStep& step = rank.program.steps[i];
    const uint32_t num_dsts = rank.fusions[i].num_pushes + (rank.fusions[i].is_unkept != 0 ? 0 : 1);
    for (uint32_t p = 0; p < step.num_pieces; ++p) {
      passes.push_back(
          {rank.program.pieces[step.first_piece + p].bytes, num_sources(rank, i), num_dsts});
    }
  }
  return passes;
}

// How often each byte of a rank's output is written, by whomever.
std::vector<uint32_t> writes_to(const std::vector<FusedProgram>& ranks, uint32_t receiver) {
  std::vector<uint32_t> writes(ranks[receiver].program.output_bytes);
  for (uint32_t r = 0; r < ranks.size(); ++r) {
    const FusedProgram& rank = ranks[r];
    for (size_t i = 0; i < rank.program.steps.size(); ++i) {
      const ProgramStep& step = rank.program.steps[i];
      const StepFusion& how = rank.fusions[i];
      if (!moves(rank, i) || step.num_pieces == 0) continue;
      const Piece& piece = rank.program.pieces[step.first_piece];
      const auto add = [&](uint64_t at) {
        for (uint64_t byte = at; byte < at + piece.bytes; ++byte) ++writes[byte];
      };
      if (r == receiver && step.dst_buffer == kOutputNumber && how.is_unkept == 0) add(piece.dst);
      for (uint32_t p = how.first_push; p < how.first_push + how.num_pushes; ++p) {
        const Push& push = rank.pushes[p];
        if (rank.program.peers[push.peer].value == receiver) add(push.at);
      }
    }
  }
  return writes;
}

TEST(Fusion, ASpreadBroadcastIsOnePassOfEveryRankIntoAllOutputs) {
  for (const uint32_t n : {2u, 3u, 5u, 8u, kMostDsts}) {
    for (const uint32_t root : {0u, n - 1}) {
      const auto ranks = fused({CollectiveKind::kBroadcast, n, root, 0}, "spread", n * 1000);
      for (const FusedProgram& rank : ranks) {
        EXPECT_THAT(passes_of(rank), ElementsAre(Move{1000 * kElemBytes, 1, n}));
      }
    }
  }
}

TEST(Fusion, ASpreadReduceIsOnePassOfEveryRankOverAllInputsIntoTheRootsOutput) {
  for (const uint32_t n : {2u, 3u, 5u, 8u, kMostSources}) {
    for (const uint32_t root : {0u, n - 1}) {
      const auto ranks = fused({CollectiveKind::kReduce, n, root, 0}, "spread", n * 1000);
      for (const FusedProgram& rank : ranks) {
        EXPECT_THAT(passes_of(rank), ElementsAre(Move{1000 * kElemBytes, n, 1}));
        EXPECT_EQ(rank.program.scratch_bytes, 0u);
      }
    }
  }
}

TEST(Fusion, EveryByteOfASpreadOutputIsWrittenOnce) {
  for (const uint32_t n : {2u, 3u, 7u}) {
    for (const auto kind : {CollectiveKind::kBroadcast, CollectiveKind::kReduce}) {
      const auto ranks = fused({kind, n, 1, 0}, "spread", 1009);
      for (uint32_t r = 0; r < n; ++r) {
        const std::vector<uint32_t> writes = writes_to(ranks, r);
        EXPECT_EQ(writes.size(), kind == CollectiveKind::kBroadcast || r == 1 ? 8072u : 0u);
        EXPECT_THAT(writes, Each(1u)) << to_string(kind) << " of " << n << ", rank " << r;
      }
    }
  }
}

TEST(Fusion, WhatTheRootWouldPushAloneIsNotPushed) {
  for (const FusedProgram& rank : fused({CollectiveKind::kBroadcast, 3, 0, 0}, "direct", 1000)) {
    EXPECT_THAT(rank.pushes, IsEmpty());
  }
}

TEST(Fusion, NoPassHasMoreSourcesThanItCanTake) {
  for (const uint32_t n : {kMostSources, kMostSources + 1, 40u}) {
    for (const std::string_view algorithm : {"one_shot", "pull_all", "pull"}) {
      uint32_t most = 0;
      for (const auto& rank : fused({CollectiveKind::kAllReduce, n, 0, 0}, algorithm, 1000)) {
        for (const Move& pass : passes_of(rank)) most = std::max(most, pass.num_sources);
      }
      EXPECT_EQ(most, kMostSources) << algorithm << " of " << n;
    }
  }
}

// More ranks than a pass has sources or destinations, or chunks without data: as it is written.
TEST(Fusion, WhatDoesNotFitOnePassIsNotPushed) {
  for (const auto kind : {CollectiveKind::kBroadcast, CollectiveKind::kReduce}) {
    for (const FusedProgram& rank : fused({kind, kMostSources + 1, 0, 0}, "spread", 1000)) {
      EXPECT_THAT(rank.pushes, IsEmpty());
    }
    for (const FusedProgram& rank : fused({kind, kMostSources, 1, 0}, "spread", 15)) {
      EXPECT_THAT(rank.pushes, IsEmpty());
    }
  }
}

// A reduce of two ranks in which rank 1 looks at its sum again.
TEST(Fusion, APushedSumThatIsReadAgainIsKept) {
  ir::Builder b({CollectiveKind::kReduce, 2, 0, 0}, {.name = "kept", .chunks_per_block = 2});
  b.add_lane(Rank{0}).send(ir::input(1), Rank{1});
  b.add_lane(Rank{0}).recv_reduce(ir::input(0), ir::output(0), Rank{1});
  b.add_lane(Rank{0}, 1).recv(ir::output(1), Rank{1});
  b.add_lane(Rank{1}).send(ir::input(0), Rank{0});
  const uint32_t sum = b.add_scratch(Rank{1}, ChunkId{1});
  const uint32_t again = b.add_scratch(Rank{1}, ChunkId{1});
  const ir::StepRef summed =
      b.add_lane(Rank{1}).recv_reduce(ir::input(1), ir::scratch(sum), Rank{0});
  b.add_lane(Rank{1}, 1).send(ir::scratch(sum), Rank{0}, {summed});
  b.add_lane(Rank{1}, 2).copy(ir::scratch(sum), ir::scratch(again), {summed});
  const auto ranks = fused(std::move(b).finish(), 2000);
  EXPECT_THAT(passes_of(ranks[1]), ElementsAre(Move{8000, 2, 2}, Move{8000, 1, 1}));
  EXPECT_EQ(ranks[1].program.scratch_bytes, 16'000u);
}

}  // namespace
}  // namespace tutti::engine::cuda
