#include "ir/msccl/pairing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/ir/schedules.h"

namespace tutti::ir::msccl {
namespace {

using Pairs = std::vector<std::pair<int32_t, int32_t>>;  // (recv, send)

Pairs pairs_of(void (*write)(LaneWriter&)) {
  Builder b({CollectiveKind::kAllReduce, 8, 0, 0}, {});
  LaneWriter lane = b.add_lane(Rank{7});
  write(lane);
  const Schedule schedule = std::move(b).finish();
  Pairs pairs;
  for (PeerPair pair : pair_peers(schedule.ranks[7].lanes[0])) {
    pairs.emplace_back(pair.recv, pair.send);
  }
  return pairs;
}

TEST(Pairing, ALaneWithoutPeersHasOnePairOfNone) {
  EXPECT_EQ(pairs_of([](LaneWriter&) {}), (Pairs{{-1, -1}}));
  EXPECT_EQ(pairs_of([](LaneWriter& l) { l.copy(input(0), output(0)); }), (Pairs{{-1, -1}}));
}

TEST(Pairing, FusedStepsStayWholeTheMostFrequentFirst) {
  const Pairs pairs = pairs_of([](LaneWriter& l) {
    l.recv_copy_send(output(0), Rank{0}, Rank{1});
    l.recv_copy_send(output(0), Rank{0}, Rank{2});
    l.recv_copy_send(output(0), Rank{0}, Rank{2});
    l.recv_copy_send(output(0), Rank{3}, Rank{1});
  });
  EXPECT_EQ(pairs, (Pairs{{0, 2}, {3, 1}}));
}

TEST(Pairing, WhatIsLeftIsPairedWithTheSamePeerThenWithAnyone) {
  const Pairs pairs = pairs_of([](LaneWriter& l) {
    l.send(input(0), Rank{1});
    l.send(input(0), Rank{2});
    l.recv(output(0), Rank{2});
    l.recv(output(0), Rank{4});
    l.recv(output(0), Rank{5});
  });
  EXPECT_EQ(pairs, (Pairs{{2, 2}, {4, 1}, {5, -1}}));
}

TEST(Pairing, EveryPeerAppearsOnceEachWay) {
  for (const auto& [name, schedule] : test::catalogue({5, 8})) {
    for (const RankProgram& program : schedule.ranks) {
      for (const Lane& lane : program.lanes) {
        std::vector<int32_t> recvs;
        std::vector<int32_t> sends_to;
        for (PeerPair pair : pair_peers(lane)) {
          if (pair.recv >= 0) recvs.push_back(pair.recv);
          if (pair.send >= 0) sends_to.push_back(pair.send);
        }
        for (const Step& step : lane.steps) {
          if (receives(step.kind)) {
            EXPECT_EQ(std::count(recvs.begin(), recvs.end(), step.recv_peer.value), 1) << name;
          }
          if (sends(step.kind)) {
            EXPECT_EQ(std::count(sends_to.begin(), sends_to.end(), step.send_peer.value), 1)
                << name;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tutti::ir::msccl
