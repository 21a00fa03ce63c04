// Blocks of all_to_all that go together where they meet: as good as blocks that go alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "plan/synth/greedy_transfers.h"
#include "tests/unit/greedy/random_topology.h"
#include "topo/open.h"

namespace tutti::plan::synth {
namespace {

struct Told {
  uint64_t num_messages = 0;
  uint64_t num_chunks = 0;
  std::map<uint32_t, uint64_t> arrived;  // by rank: chunks for it
  int64_t last_ps = 0;
};

Told deliver_all(const Network& network, uint32_t parts, const GreedyWork& work) {
  Told told;
  const auto last = deliver(network, parts, work, [&](const Transfer& transfer) {
    const uint32_t to = network.hops[transfer.hop].to;
    const uint32_t destination = transfer.chunk / parts % network.num_ranks;
    ++told.num_messages;
    told.num_chunks += transfer.num_chunks;
    if (to == destination) told.arrived[to] += transfer.num_chunks;
  });
  EXPECT_TRUE(last.ok()) << last.error().message;
  if (last.ok()) told.last_ps = last.value();
  return told;
}

Network network_for(const topo::Topology& topology) {
  return network_of(topology, Reach::kAll).value();
}

GreedyWork together() {
  GreedyWork work{.chunk_bytes = 1 << 16};
  work.max_transfers_alone = 0;
  return work;
}

void expect_all_arrive(const topo::Topology& topology, uint32_t parts) {
  const uint32_t p = topology.num_ranks();
  const Told told = deliver_all(network_for(topology), parts, together());
  for (uint32_t r = 0; r < p; ++r) {
    EXPECT_EQ(told.arrived.contains(r) ? told.arrived.at(r) : 0, uint64_t{p - 1} * parts)
        << topology.name << ", rank " << r;
  }
}

TEST(Deliver, BringsAllBlocksWhereTheyGoTogether) {
  for (const char* const name : {"ring:2", "ring:7", "torus:4x4", "grid:3x5", "mesh:5", "dgx-1v",
                                 "ndv2*2", "rail:dgx-a100*2"}) {
    for (const uint32_t parts : {1u, 3u}) expect_all_arrive(topo::open(name).value(), parts);
  }
  std::mt19937_64 random(20261119);
  for (int i = 0; i < 20; ++i) {
    expect_all_arrive(random_topology(static_cast<uint32_t>(2 + random() % 12), random), 2);
  }
}

TEST(Deliver, TakesFewMessagesWhereBlocksGoTogether) {
  const Network ring = network_for(topo::open("ring:16").value());
  const Told alone = deliver_all(ring, 1, {.chunk_bytes = 1 << 16});
  const Told joined = deliver_all(ring, 1, together());
  EXPECT_EQ(alone.num_messages, alone.num_chunks);
  EXPECT_EQ(joined.num_chunks, alone.num_chunks);
  EXPECT_LT(2 * joined.num_messages, joined.num_chunks);
  // No later by more than the last bundle of each kind of link.
  EXPECT_LT(static_cast<double>(joined.last_ps), 1.2 * static_cast<double>(alone.last_ps));
}

TEST(Deliver, RefusesMoreBlocksThanItCanNumber) {
  Network network;
  network.num_ranks = 65'536;
  const auto refused = deliver(network, 1, {}, [](const Transfer&) {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace tutti::plan::synth
