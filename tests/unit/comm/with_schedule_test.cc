// Communicators that follow a schedule which their members brought along: every kind that is made
// for a topology gives exact results on as many ranks of this host, and what cannot be is refused
// on all members before anything moves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "comm/loaded_schedule.h"
#include "ir/text.h"
#include "plan/packed.h"
#include "tests/support/sanitized.h"
#include "tests/unit/comm/on_ranks.h"
#include "tests/unit/comm/ranks.h"
#include "tests/unit/comm/trial.h"
#include "topo/open.h"
#include "topo/variants.h"
#include "tutti/schedule.h"

namespace tutti {
namespace {

using test::Case;
using test::on_ranks;
using test::Ranks;
using testing::AllOf;
using testing::HasSubstr;

constexpr CollectiveKind kPackedKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kReduce,
                                           CollectiveKind::kBroadcast, CollectiveKind::kAllGather,
                                           CollectiveKind::kReduceScatter};

// "dgx-1v", or with ranks: "dgx-1v/0,1,4,5,7".
topo::Topology open_part(const std::string& text) {
  const size_t slash = text.find('/');
  const topo::Topology machine = topo::open(text.substr(0, slash)).value();
  if (slash == std::string::npos) return machine;
  const auto ranks = topo::parse_ranks(text.substr(slash + 1), machine.num_ranks()).value();
  return topo::subset(machine, ranks).value();
}

VerifiedSchedule packed(const topo::Topology& topology, CollectiveKind kind, uint32_t root,
                        uint32_t chunks, const std::string& algorithm = "packed") {
  const Collective collective{kind, topology.num_ranks(), root};
  const auto packing = plan::pack_for(collective, topology, algorithm).value();
  auto schedule = plan::make_packed(collective, packing, algorithm, chunks).value();
  return Schedule(std::make_shared<const ir::Schedule>(std::move(schedule))).verify().value();
}

// Sizes with empty and uneven blocks, in packets and through memory, in place and not.
template <class T>
void check_calls(Communicator& comm, CollectiveKind kind, uint32_t root) {
  const uint32_t n = comm.num_ranks();
  const bool has_blocks =
      kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
  for (const uint64_t count : {uint64_t{1}, uint64_t{37}, uint64_t{4099}}) {
    for (const bool in_place : {false, true}) {
      Case what{.kind = kind, .op = is_reducing(kind) ? Op::kSum : Op::kMax};
      what.counts.assign(n, count);
      what.in_place = in_place;
      what.root = root;
      test::check<T>(comm, what);
      if (!has_blocks) continue;
      for (uint32_t r = 0; r < n; ++r) what.counts[r] = count * (r % 3) / 2;
      what.is_uneven = true;
      test::check<T>(comm, what);
    }
  }
}

class Machines : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Topologies, Machines,
                         testing::Values("dgx-1v", "dgx-1v/0,1,2,4,7", "dgx-1p/1,2,3,5,6,7",
                                         "ring:5", "torus:2x3", "dgx-a100/0-3", "ndv2*2/0,1,8,9"));

TEST_P(Machines, SchedulesPackedForThemRunHereWithExactResults) {
  const topo::Topology topology = open_part(GetParam());
  const uint32_t root = topology.num_ranks() - 1;
  for (const CollectiveKind kind : kPackedKinds) {
    const uint32_t own_root = is_rooted(kind) ? root : 0;
    const VerifiedSchedule schedule = packed(topology, kind, own_root, 3);
    on_ranks(topology.num_ranks(), [&](Communicator& comm) {
      Communicator follower = comm.with_schedule(schedule).value();
      check_calls<int32_t>(follower, kind, own_root);
      check_calls<double>(follower, kind, own_root);
      check_calls<BFloat16>(follower, kind, own_root);
      check_calls<uint8_t>(follower, kind, own_root);
    });
  }
}

TEST(WithSchedule, BlinksTreesRunToo) {
  const VerifiedSchedule schedule =
      packed(open_part("dgx-1v"), CollectiveKind::kBroadcast, 5, 4, "blink");
  on_ranks(8, [&](Communicator& comm) {
    Communicator follower = comm.with_schedule(schedule).value();
    check_calls<float>(follower, CollectiveKind::kBroadcast, 5);
  });
}

TEST(WithSchedule, RanksThatAreProcessesRunThemAlike) {
  const topo::Topology topology = open_part("dgx-1v/0,1,2,4,7");
  Ranks ranks = Ranks::processes(5);
  for (const CollectiveKind kind : kPackedKinds) {
    const VerifiedSchedule schedule = packed(topology, kind, 0, 4);
    on_ranks(ranks.comms(), [&](Communicator& comm) {
      Communicator follower = comm.with_schedule(schedule).value();
      check_calls<int64_t>(follower, kind, 0);
    });
  }
}

// A schedule that leaves its mark: the largest number of messages on a link is one a chunk.
VerifiedSchedule chain(uint32_t num_ranks, uint32_t chunks) {
  return Schedule::plan({CollectiveKind::kBroadcast, num_ranks, 1}, "chain", {.chunks = chunks})
      .value()
      .verify()
      .value();
}

uint32_t messages(Ranks& ranks, const Result<comm::LoadedSchedule>& loaded, uint64_t elems,
                  uint32_t root) {
  comm::TuningTable table;
  table.schedules = {loaded.value()};
  auto& shelf = ranks.node(0).shelf;
  auto& programs = shelf.programs(3, Rank{0}, shelf.keep(table));
  return programs.find({CollectiveKind::kBroadcast, 8, root, elems, {}}).value()->most_messages;
}

TEST(WithSchedule, ServesItsRootAndSizesAndNothingElse) {
  Ranks ranks(3);
  const auto loaded = comm::load_schedule(chain(3, 7).proved(), {80, 800});
  EXPECT_EQ(messages(ranks, loaded, 10, 1), 7u);
  EXPECT_EQ(messages(ranks, loaded, 100, 1), 7u);
  EXPECT_EQ(messages(ranks, loaded, 9, 1), 1u);
  EXPECT_EQ(messages(ranks, loaded, 101, 1), 1u);
  EXPECT_EQ(messages(ranks, loaded, 10, 2), 1u);
}

TEST(WithSchedule, OtherCallsAndWhatIsMadeOfItWorkAsBefore) {
  on_ranks(4, [](Communicator& comm) {
    Communicator follower = comm.with_schedule(chain(4, 5)).value();
    for (const uint32_t root : {0u, 1u, 3u}) {
      check_calls<int32_t>(follower, CollectiveKind::kBroadcast, root);
    }
    check_calls<int32_t>(follower, CollectiveKind::kAllReduce, 0);
    Communicator same = follower.duplicate().value();
    check_calls<int32_t>(same, CollectiveKind::kBroadcast, 1);
    Communicator pair = follower.split(comm.rank() % 2, 0).value();
    check_calls<int32_t>(pair, CollectiveKind::kBroadcast, 1);
    check_calls<int32_t>(comm, CollectiveKind::kBroadcast, 1);
  });
}

TEST(WithSchedule, CallsOnTheCopyNeverMeetThoseOnTheOriginal) {
  on_ranks(3, [](Communicator& comm) {
    Communicator follower = comm.with_schedule(chain(3, 4)).value();
    std::vector<int32_t> first(100, comm.rank() == 1 ? 1 : 0);
    std::vector<int32_t> second(100, comm.rank() == 1 ? 2 : 0);
    Communicator* order[] = {&comm, &follower};
    std::vector<int32_t>* rows[] = {&first, &second};
    Work work;
    for (const uint32_t i : {comm.rank() % 2, 1 - comm.rank() % 2}) {
      work += order[i]->broadcast(std::span(*rows[i]), {.root = 1});
    }
    ASSERT_TRUE(work.wait().ok());
    EXPECT_EQ(first, std::vector<int32_t>(100, 1));
    EXPECT_EQ(second, std::vector<int32_t>(100, 2));
  });
}

TEST(WithSchedule, TheSameAgainIsKeptOnce) {
  Ranks ranks(1);
  comm::TuningTable table;
  table.schedules = {comm::load_schedule(chain(2, 3).proved(), {}).value()};
  auto& shelf = ranks.node(0).shelf;
  EXPECT_EQ(shelf.keep(table), shelf.keep(table));
  comm::TuningTable other;
  other.schedules = {comm::load_schedule(chain(2, 4).proved(), {}).value()};
  EXPECT_NE(shelf.keep(table), shelf.keep(other));
}

// The error of every rank; all must have the same.
template <class Bring>
Error error_of_all(uint32_t num_ranks, Bring bring) {
  std::mutex mutex;
  std::set<std::string> messages;
  Error error{};
  on_ranks(num_ranks, [&](Communicator& comm) {
    const Result<Communicator> follower = bring(comm);
    const std::lock_guard lock(mutex);
    ASSERT_FALSE(follower.ok());
    error = follower.error();
    messages.insert(error.message);
  });
  EXPECT_EQ(messages.size(), 1u);
  return error;
}

TEST(WithSchedule, AnotherNumberOfRanksIsRefused) {
  const Error error =
      error_of_all(3, [](Communicator& comm) { return comm.with_schedule(chain(4, 1)); });
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("broadcast chain of 4 ranks, root 1"), HasSubstr("has 3 ranks")));
}

TEST(WithSchedule, MembersThatBringDifferentOnesAreNamedToAll) {
  const Error error = error_of_all(
      3, [](Communicator& comm) { return comm.with_schedule(chain(3, comm.rank() == 1 ? 2 : 3)); });
  EXPECT_THAT(error.message, AllOf(HasSubstr("different schedules"), HasSubstr("ranks 0, 2: "),
                                   HasSubstr("rank 1: ")));
}

TEST(WithSchedule, SizesThatDifferAreADifferenceToo) {
  const Error error = error_of_all(2, [](Communicator& comm) {
    return comm.with_schedule(chain(2, 1), {.min_bytes = comm.rank()});
  });
  EXPECT_THAT(error.message, AllOf(HasSubstr("rank 1: "), HasSubstr("from 1 bytes")));
}

TEST(WithSchedule, AFileThatOneCannotReadIsAnErrorOfAll) {
  const std::string path =
      testing::TempDir() + "/with_schedule_chain" + std::to_string(getpid()) + ".json";
  ASSERT_TRUE(base::write_file(path, chain(3, 2).schedule().to_json()).ok());
  const Error error = error_of_all(3, [&](Communicator& comm) {
    return comm.with_schedule(comm.rank() == 2 ? path + ".missing" : path);
  });
  EXPECT_THAT(error.message, AllOf(HasSubstr("rank 2: "), HasSubstr(".missing")));
  on_ranks(3, [&](Communicator& comm) {
    Communicator follower = comm.with_schedule(path).value();
    check_calls<int32_t>(follower, CollectiveKind::kBroadcast, 1);
  });
  std::filesystem::remove(path);
}

TEST(WithSchedule, AFileThatIsNotProvedIsRefusedWithTheStep) {
  ir::Schedule wrong = chain(3, 1).schedule().data();
  wrong.ranks[2].lanes.clear();
  const std::string path =
      testing::TempDir() + "/with_schedule_wrong" + std::to_string(getpid()) + ".json";
  ASSERT_TRUE(base::write_file(path, ir::to_text(wrong)).ok());
  const Error error = error_of_all(3, [&](Communicator& comm) { return comm.with_schedule(path); });
  EXPECT_NE(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message, AllOf(HasSubstr("is not proved"), HasSubstr("rank 1 lane")));
  std::filesystem::remove(path);
}

TEST(WithSchedule, TwoForTheSameCallsAreRefusedAndForOtherSizesAreNot) {
  on_ranks(2, [](Communicator& comm) {
    Communicator small = comm.with_schedule(chain(2, 2), {.max_bytes = 999}).value();
    const auto both = small.with_schedule(chain(2, 3), {.min_bytes = 999});
    ASSERT_FALSE(both.ok());
    EXPECT_THAT(both.error().message, HasSubstr("the same calls"));
    Communicator large = small.with_schedule(chain(2, 3), {.min_bytes = 1000}).value();
    check_calls<int32_t>(large, CollectiveKind::kBroadcast, 1);
  });
}

TEST(WithSchedule, WhatNoCallCouldFollowIsRefused) {
  const auto message = [](Schedule schedule, ByteRange sizes = {}) {
    const auto loaded = comm::load_schedule(schedule.verify().value().proved(), sizes);
    return loaded ? std::string("loaded") : loaded.error().message;
  };
  const Schedule pair = Schedule::plan({CollectiveKind::kSendRecv, 2, 0, 1}, "direct").value();
  EXPECT_THAT(message(pair), HasSubstr("messages follow no schedule"));
  const Schedule ring = Schedule::plan({CollectiveKind::kAllReduce, 3}, "ring").value();
  EXPECT_EQ(message(ring), "loaded");
  EXPECT_THAT(message(ring, {10, 9}), HasSubstr("no size"));
  ir::Schedule in_place = ring.data();
  in_place.placement = ir::Placement::kInPlace;
  EXPECT_THAT(message(Schedule(std::make_shared<const ir::Schedule>(in_place))),
              HasSubstr("in place alone"));
  const Schedule fine =
      Schedule::plan({CollectiveKind::kBroadcast, 2}, "chain", {.chunks = 65'536}).value();
  EXPECT_THAT(message(fine), AllOf(HasSubstr("rank 0 sends"), HasSubstr("fewer chunks")));
}

}  // namespace
}  // namespace tutti
