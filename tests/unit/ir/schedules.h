// Schedules that the tests of this folder work on: every algorithm of the catalogue for some rank
// counts, and small ones written by hand.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/schedule.h"
#include "plan/algorithm.h"

namespace tutti::ir::test {

struct NamedSchedule {
  std::string name;  // "all_reduce ring 4"
  Schedule schedule;
};

inline std::vector<NamedSchedule> catalogue(std::initializer_list<uint32_t> rank_counts) {
  std::vector<NamedSchedule> all;
  for (const plan::Algorithm& algorithm : plan::algorithms()) {
    for (uint32_t num_ranks : rank_counts) {
      Collective collective{algorithm.kind, num_ranks, 0, 0};
      if (is_rooted(algorithm.kind)) collective.root = num_ranks / 2;
      if (algorithm.kind == CollectiveKind::kSendRecv) collective.peer = 0;
      Result<Schedule> schedule = plan::make(collective, algorithm.name, {});
      if (!schedule) continue;
      all.push_back({fmt::format("{} {} {}", to_string(algorithm.kind), algorithm.name, num_ranks),
                     *std::move(schedule)});
    }
  }
  return all;
}

// A step of every kind, several chunks, scratch of several sizes, two lanes on two channels, an
// empty lane and dependencies across lanes. Of good shape; it computes nothing.
inline Schedule every_kind() {
  Builder b({CollectiveKind::kAllGather, 3, 0, 0},
            {.name = "every \"kind\"", .chunks_per_block = 4, .slots = 3});
  for (uint32_t chunk : {0u, 1u, 2u, 5u, 5u, 7u}) b.add_scratch(Rank{0}, ChunkId{chunk});
  b.add_scratch(Rank{0}, kAnyChunk);
  b.add_scratch(Rank{0}, kAnyChunk);
  LaneWriter a = b.add_lane(Rank{0});
  LaneWriter c = b.add_lane(Rank{0}, 7);
  b.add_lane(Rank{0}, 9);
  const StepRef copied = a.copy(input(0, 4), output(0, 4));
  const StepRef sent = a.send(output(0, 2), Rank{1}, {copied});
  const StepRef signal = c.send(input(0, 0), Rank{2}, {copied, sent});
  a.recv(output(4, 2), Rank{1}, {signal});
  a.recv(input(0, 0), Rank{1});
  c.reduce(scratch(0), scratch(6), {sent});
  c.recv_reduce(scratch(1), scratch(2), Rank{2});
  c.recv_copy_send(output(8), Rank{2}, Rank{1});
  c.recv_reduce_send(scratch(3, 2), Rank{2}, Rank{1});
  c.recv_reduce_copy_send(scratch(3), scratch(5), Rank{2}, Rank{1}, {copied, signal});
  LaneWriter d = b.add_lane(Rank{1});
  d.recv(output(0, 2), Rank{0});
  d.send(input(0, 2), Rank{0});
  d.send(input(0, 0), Rank{0});
  LaneWriter e = b.add_lane(Rank{1}, 7);
  e.recv(output(8), Rank{0});
  b.add_scratch(Rank{1}, kAnyChunk);
  b.add_scratch(Rank{1}, kAnyChunk);
  e.recv(scratch(0, 2), Rank{0});
  e.recv(scratch(0), Rank{0});
  LaneWriter f = b.add_lane(Rank{2}, 7);
  f.recv(input(0, 0), Rank{0});
  f.send(input(1), Rank{0});
  f.send(input(1), Rank{0});
  f.send(input(1, 2), Rank{0});
  f.send(input(1), Rank{0});
  return std::move(b).finish();
}

// The seed of a test's random numbers: TUTTI_SEED, or the one given.
inline uint64_t seed_or(uint64_t seed) {
  const char* text = std::getenv("TUTTI_SEED");
  return text == nullptr ? seed : std::strtoull(text, nullptr, 10);
}

}  // namespace tutti::ir::test
