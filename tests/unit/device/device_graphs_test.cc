// Calls in graphs that are launched again and again, and calls that kernels trigger, on devices
// that are threads of the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "comm/group.h"
#include "comm/node.h"
#include "engine/cuda/memory_order.h"
#include "tests/support/sanitized.h"
#include "tests/unit/device/device_job.h"

namespace tutti::test {
namespace {

using Self = DeviceJob::Self;
using testing::AllOf;
using testing::HasSubstr;

// Long enough for a busy machine; a test that fails ends with it.
constexpr std::chrono::milliseconds kBound = std::chrono::seconds(60);

// A graph that counts up its data, adds them over all ranks, and keeps the sum beside.
struct SumGraph {
  ThreadStream stream;
  ThreadGraph graph;
  std::span<int64_t> data;
  std::span<int64_t> sum;

  SumGraph(Self& self, uint64_t elems, const std::string& name) {
    data = self.numbers(elems, first_of(self.rank));
    sum = self.room(elems);
    stream.record(graph);
    stream.add([this] {
      for (int64_t& value : data) ++value;
    });
    const Status status =
        self.gpu.all_reduce(read_only(data), sum, &stream, {.name = name, .deadline = kBound});
    EXPECT_TRUE(status.ok()) << status.error().message;
    stream.end_recording();
  }
  void launch() { stream.launch(graph); }
  // After so many launches.
  void check(uint32_t num_ranks, int64_t launches) const {
    for (uint64_t i = 0; i < sum.size(); ++i) {
      ASSERT_EQ(sum[i], sum_of(num_ranks, i) + num_ranks * launches) << i;
    }
  }
};

TEST(DeviceGraphs, NothingRunsBeforeTheLaunchAndEachLaunchSeesItsOwnInput) {
  for (const Placing placing : kPlacings) {
    for (const uint32_t n : {1u, 2u, 4u}) {
      DeviceJob job(n, placing);
      job.run([&](Self& self) {
        for (const uint64_t elems : {1ul, 14ul, 5003ul, 300'000ul}) {
          SumGraph graph(self, elems, "");
          graph.stream.synchronize();
          ASSERT_EQ(graph.sum[0], -1);
          for (int64_t i = 1; i <= 5; ++i) {
            graph.launch();
            graph.stream.synchronize();
            graph.check(n, i);
          }
        }
        EXPECT_TRUE(self.gpu.finish().ok());
      });
    }
  }
}

// Each rank launches its graphs in an order of its own: each has its own stream.
TEST(DeviceGraphs, AThousandLaunchesInOtherOrdersOnEveryRankAreExact) {
  constexpr int64_t kLaunches = kSanitized ? 60 : 250;  // of each of four graphs
  DeviceJob job(3);
  job.run([](Self& self) {
    std::vector<std::unique_ptr<SumGraph>> graphs;
    for (const uint64_t elems : {1ul, 9ul, 300ul, 6000ul}) {
      graphs.push_back(std::make_unique<SumGraph>(self, elems, "graph " + std::to_string(elems)));
    }
    std::vector<size_t> order;
    for (int64_t i = 0; i < kLaunches; ++i) order.insert(order.end(), {0, 1, 2, 3});
    std::shuffle(order.begin(), order.end(), std::mt19937_64(self.rank));
    for (const size_t g : order) graphs[g]->launch();
    for (const auto& graph : graphs) {
      graph->stream.synchronize();
      graph->check(3, kLaunches);
    }
    EXPECT_TRUE(self.gpu.status().ok());
  });
}

TEST(DeviceGraphs, TwoGraphsInOppositeOrdersOnTwoRanksDoNotWaitForEachOther) {
  DeviceJob job(2);
  job.run([](Self& self) {
    SumGraph first(self, 700, "first");
    SumGraph second(self, 8, "second");
    constexpr int64_t kRounds = kSanitized ? 20 : 100;
    for (int64_t i = 1; i <= kRounds; ++i) {
      SumGraph* const order[] = {self.rank == 0 ? &first : &second,
                                 self.rank == 0 ? &second : &first};
      for (SumGraph* graph : order) graph->launch();
      for (SumGraph* graph : order) {
        if (i % 3 == 0) graph->stream.synchronize();
      }
    }
    for (SumGraph* graph : {&first, &second}) {
      graph->stream.synchronize();
      graph->check(2, kRounds);
    }
  });
}

TEST(DeviceGraphs, LaunchesAndCallsInStreamsMayAlternate) {
  for (const Placing placing : kPlacings) {
    DeviceJob job(2, placing);
    job.run([](Self& self) {
      SumGraph graph(self, 400, "");
      for (int64_t i = 1; i <= (kSanitized ? 5 : 20); ++i) {
        graph.launch();
        check_all_reduce(self, 100 + static_cast<uint64_t>(i));
        // In the stream of the launch, behind it.
        ASSERT_TRUE(self.gpu.all_reduce(graph.sum, &graph.stream).ok());
        graph.stream.synchronize();
        ASSERT_EQ(graph.sum[399], 2 * (sum_of(2, 399) + 2 * i));
      }
      EXPECT_TRUE(self.gpu.finish().ok());
    });
  }
}

// Between two launches daemons leave, and nobody tells the host that work has come.
TEST(DeviceGraphs, DaemonsThatLeaveAtOnceComeBackForALaunch) {
  DeviceJob job(3, Placing::kOneProcess, {.presence = {.linger_ns = 1'000, .stay_ns = 20'000}});
  job.run([&](Self& self) {
    SumGraph small(self, 5, "small");
    SumGraph large(self, 30'000, "large");
    engine::cuda::Daemon& daemon = job.host(self.rank).node(self.rank, 3).value()->daemon();
    for (int64_t i = 1; i <= (kSanitized ? 8 : 40); ++i) {
      small.launch();
      large.launch();
      // Whatever it has come to.
      daemon.leave();
      small.stream.synchronize();
      large.stream.synchronize();
      daemon.leave();
      small.check(3, i);
      large.check(3, i);
    }
  });
}

// Everyone sends first, in one group; and a message of a rank to itself, which is a copy.
TEST(DeviceGraphs, GroupsAreCaptured) {
  for (const Placing placing : kPlacings) {
    DeviceJob job(4, placing);
    job.run([](Self& self) {
      const uint32_t next = (self.rank + 1) % 4;
      const uint32_t before = (self.rank + 3) % 4;
      const auto sent = self.numbers(2000, first_of(self.rank));
      const auto received = self.room(2000);
      const auto own = self.room(2000);
      const Call calls[] = {message(sent, next, false), message(received, before, true),
                            message(sent, self.rank, false), message(own, self.rank, true)};
      ThreadGraph graph;
      self.stream.record(graph);
      const Status status = self.gpu.enqueue(calls, self.handle());
      self.stream.end_recording();
      ASSERT_TRUE(status.ok()) << status.error().message;
      for (int64_t i = 0; i < 5; ++i) {
        self.stream.add([&] {
          for (int64_t& value : sent) ++value;
        });
        self.stream.launch(graph);
      }
      self.stream.synchronize();
      EXPECT_EQ(received[1999], first_of(before) + 1999 + 5);
      EXPECT_EQ(own[1999], first_of(self.rank) + 1999 + 5);
    });
  }
}

// Memory that others do not reach is copied by the graph.
TEST(DeviceGraphs, MemoryThatOthersDoNotReachIsCopiedAtEveryLaunch) {
  DeviceJob job(2, Placing::kProcesses);
  job.run([](Self& self) {
    constexpr uint64_t kElems = 500;
    auto* const at =
        reinterpret_cast<int64_t*>(self.device.allocate_private(kElems * sizeof(int64_t)));
    const std::span<int64_t> data(at, kElems);
    ThreadGraph graph;
    self.stream.record(graph);
    self.stream.add([data, &self] {
      for (uint64_t i = 0; i < kElems; ++i) {
        data[i] = first_of(self.rank) + static_cast<int64_t>(i);
      }
    });
    ASSERT_TRUE(self.gpu.all_reduce(data, self.handle()).ok());
    self.stream.end_recording();
    for (int i = 0; i < 4; ++i) {
      self.stream.launch(graph);
      self.stream.synchronize();
      for (uint64_t e = 0; e < kElems; ++e) ASSERT_EQ(data[e], sum_of(2, e));
    }
  });
}

Call sum_call(std::span<int64_t> data, const std::string& name) {
  return {.kind = CollectiveKind::kAllReduce,
          .type = DataType::kInt64,
          .input = data.data(),
          .input_elems = data.size(),
          .output = data.data(),
          .output_elems = data.size(),
          .options = {.name = name}};
}

std::unique_ptr<comm::Board> board_of(const Self& self) {
  auto board = std::make_unique<comm::Board>();
  self.comm.group()->node().elsewhere.show(*board);
  return board;
}

// The host does not hear of the launch: it sees that the daemon stays.
TEST(DeviceGraphs, BoardsShowWhatIsPreparedAndWhetherAnythingWasBegun) {
  DeviceJob job(2);
  job.run([](Self& self) {
    SumGraph graph(self, 500, "layer");
    const auto at_rest = [&] { return board_of(self)->launch == 0; };
    // Liveness: the daemon goes when it has nothing to do; and so below.
    while (!at_rest()) std::this_thread::yield();
    const auto board = board_of(self);
    ASSERT_EQ(board->num_prepared, 1u);
    EXPECT_EQ(board->prepared[0].name.view(), "layer");
    EXPECT_EQ(board->prepared[0].signature.count, 500u);
    EXPECT_TRUE(board->prepared[0].members.has(0) && board->prepared[0].members.has(1));
    EXPECT_EQ(board->num_under_way, 0u);
    ASSERT_TRUE(self.comm.barrier().wait().ok());
    if (self.rank == 0) {
      graph.launch();
      // Liveness: the watch brings back the daemon for what was triggered.
      while (at_rest()) std::this_thread::yield();
      for (int i = 0; i < 1000; ++i) {
        ASSERT_FALSE(at_rest());
        std::this_thread::yield();
      }
      // It waits for nothing that graphs have begun.
      EXPECT_TRUE(self.gpu.finish().ok());
      EXPECT_TRUE(self.gpu.is_idle());
      EXPECT_EQ(graph.sum[0], -1);
    } else {
      EXPECT_TRUE(at_rest());
    }
    ASSERT_TRUE(self.comm.barrier().wait().ok());
    if (self.rank == 1) graph.launch();
    graph.stream.synchronize();
    graph.check(2, 1);
    while (!at_rest()) std::this_thread::yield();
  });
}

TEST(DeviceGraphs, WhatIsGoneIsOnNoBoard) {
  DeviceJob job(2);
  job.run([](Self& self) {
    const auto data = self.numbers(100);
    {
      const auto call = self.gpu.prepare(sum_call(data, "sum"));
      ASSERT_TRUE(call.ok());
      EXPECT_EQ(board_of(self)->num_prepared, 1u);
    }
    EXPECT_EQ(board_of(self)->num_prepared, 0u);
    const auto refused = self.gpu.prepare(message(data, self.rank, false));
    EXPECT_FALSE(refused.ok());
    EXPECT_EQ(board_of(self)->num_prepared, 0u);
  });
}

// The graph goes on, the others hear of it, and the next launch meets again.
TEST(DeviceGraphs, WhatRanksDisagreeOnIsSaidAndTheGraphGoesOn) {
  DeviceJob job(2);
  job.run([](Self& self) {
    SumGraph graph(self, self.rank == 0 ? 500 : 499, "layer");
    SumGraph other(self, 30, "other");
    for (int i = 0; i < 3; ++i) graph.launch();
    graph.stream.synchronize();
    const Status status = self.gpu.status();
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message, AllOf(HasSubstr("ranks disagree on"), HasSubstr("layer"),
                                              HasSubstr("499"), HasSubstr("500")));
    EXPECT_EQ(graph.sum[3], -1);
    EXPECT_EQ(board_of(self)->prepared[0].outcome, engine::Outcome::kFailed);
    EXPECT_EQ(board_of(self)->prepared[1].outcome, engine::Outcome::kUnderWay);
    other.launch();
    other.stream.synchronize();
    other.check(2, 1);
  });
}

TEST(DeviceGraphs, ALaunchThatAnotherRankDoesNotMakeEndsAtItsDeadline) {
  DeviceJob job(2);
  job.run([](Self& self) {
    const auto data = self.numbers(60, first_of(self.rank));
    ThreadGraph graph;
    self.stream.record(graph);
    ASSERT_TRUE(self.gpu
                    .all_reduce(data, self.handle(),
                                {.name = "lonely", .deadline = std::chrono::milliseconds(30)})
                    .ok());
    self.stream.end_recording();
    if (self.rank == 1) return;
    self.stream.launch(graph);
    self.stream.synchronize();
    const Status status = self.gpu.status();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kDeadline);
    EXPECT_THAT(status.error().message, AllOf(HasSubstr("rank 1"), HasSubstr("lonely")));
    // Its memory may still be written to: it never runs again, and nobody waits for it.
    self.stream.launch(graph);
    self.stream.synchronize();
    EXPECT_EQ(self.gpu.finish().error().code, ErrorCode::kDeadline);
  });
}

TEST(DeviceGraphs, AnAbortEndsLaunchesUnderWayAndThoseToCome) {
  DeviceJob job(2);
  job.run([&](Self& self) {
    auto gpu =
        DeviceCommunicator(comm::DeviceGroup::create(self.comm, job.host(self.rank)).value());
    const auto data = self.numbers(60);
    ThreadGraph graph;
    self.stream.record(graph);
    ASSERT_TRUE(gpu.all_reduce(data, self.handle()).ok());
    self.stream.end_recording();
    if (self.rank == 0) self.stream.launch(graph);
    gpu.abort();
    self.stream.launch(graph);
    self.stream.synchronize();
    EXPECT_EQ(gpu.status().error().code, ErrorCode::kAborted);
    self.stream.record(graph);
    EXPECT_FALSE(gpu.all_reduce(data, self.handle()).ok());
    self.stream.end_recording();
    check_all_reduce(self, 100);
  });
}

// The last copy of the communicator goes first; its number is not another's while the graph lives.
TEST(DeviceGraphs, AGraphMayOutliveItsCommunicator) {
  for (const Placing placing : kPlacings) {
    DeviceJob job(2, placing);
    job.run([&](Self& self) {
      const auto data = self.numbers(700, first_of(self.rank));
      ThreadGraph graph;
      {
        auto gpu =
            DeviceCommunicator(comm::DeviceGroup::create(self.comm, job.host(self.rank)).value());
        self.stream.record(graph);
        ASSERT_TRUE(gpu.all_reduce(data, self.handle()).ok());
        self.stream.end_recording();
      }
      check_all_reduce(self, 100);
      self.stream.launch(graph);
      self.stream.synchronize();
      EXPECT_EQ(data[699], sum_of(2, 699));
    });
  }
}

// So many graphs, one after the other, as a rank has room for and more.
TEST(DeviceGraphs, WhatAGraphTookIsUsedAgainWhenItIsGone) {
  DeviceJob job(2);
  job.run([&](Self& self) {
    engine::cuda::Daemon& daemon = job.host(self.rank).node(self.rank, 2).value()->daemon();
    const auto data = self.numbers(10, 0);
    const uint32_t num_graphs = engine::cuda::kMostPrepared / 8 + 10;
    for (uint32_t i = 0; i < num_graphs; ++i) {
      ThreadGraph graph;
      self.stream.record(graph);
      for (int call = 0; call < 8; ++call) {
        ASSERT_TRUE(self.gpu.all_reduce(data, self.handle()).ok());
      }
      self.stream.end_recording();
      EXPECT_EQ(daemon.num_prepared(), 8u);
      if (i % 16 == 0) {
        std::fill(data.begin(), data.end(), 1);
        self.stream.launch(graph);
        self.stream.synchronize();
        ASSERT_EQ(data[9], 256);
      }
      graph = {};
      // Liveness: a thread of the node's lets go of what was the graph's.
      while (daemon.num_prepared() != 0) std::this_thread::yield();
    }
  });
}

TEST(DeviceGraphs, MoreThanARankHasRoomForIsRefused) {
  DeviceJob job(1);
  job.run([](Self& self) {
    const auto data = self.numbers(2);
    ThreadGraph graph;
    self.stream.record(graph);
    for (uint32_t i = 0; i < engine::cuda::kMostPrepared; ++i) {
      ASSERT_TRUE(self.gpu.all_reduce(data, self.handle()).ok());
    }
    const Status status = self.gpu.all_reduce(data, self.handle());
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
    self.stream.end_recording();
    self.stream.launch(graph);
    self.stream.synchronize();
    EXPECT_EQ(data[1], 1);
  });
}

// --- kernels ---

// As in tutti/device_kernel.h, which threads of a host cannot call.
void trigger_and_await(const DeviceTrigger& call) {
  engine::cuda::store_release(call.arm, 1);
  engine::cuda::store_release(call.triggered, 1);
  // Liveness: as tutti::await.
  while (engine::cuda::load_acquire(call.done) == 0) std::this_thread::yield();
  engine::cuda::store_relaxed(call.done, 0);
}

TEST(DeviceGraphs, AKernelTriggersACallAgainAndAgain) {
  for (const Placing placing : kPlacings) {
    DeviceJob job(2, placing);
    job.run([](Self& self) {
      const auto data = self.numbers(1, 1);
      const auto many = self.numbers(3000, 0);
      const auto small = self.gpu.prepare(sum_call(data, "small"));
      const auto large = self.gpu.prepare(sum_call(many, "large"));
      ASSERT_TRUE(small.ok());
      ASSERT_TRUE(large.ok());
      self.stream.add([&] {
        for (int i = 0; i < (kSanitized ? 40 : 400); ++i) {
          data[0] = i + self.rank;
          trigger_and_await(small->trigger());
          ASSERT_EQ(data[0], 2 * i + 1);
          if (i % 10 != 0) continue;
          std::fill(many.begin(), many.end(), i);
          trigger_and_await(large->trigger());
          ASSERT_EQ(many[2999], 2 * i);
        }
      });
      self.stream.synchronize();
      EXPECT_TRUE(self.gpu.finish().ok());
    });
  }
}

TEST(DeviceGraphs, WhatNobodyCanTriggerIsRefused) {
  DeviceJob job(2, Placing::kProcesses);
  job.run([](Self& self) {
    auto* const hidden = reinterpret_cast<int64_t*>(self.device.allocate_private(800));
    const auto refused = self.gpu.prepare(sum_call({hidden, 100}, ""));
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("allocate_on_device"));
    const auto data = self.numbers(100);
    EXPECT_FALSE(self.gpu.prepare(message(data, self.rank, false)).ok());
    // They have used no number.
    check_all_reduce(self, 100);
  });
}

}  // namespace
}  // namespace tutti::test
