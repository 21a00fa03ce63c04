// The C API as C has it: handles, codes, options that grow. That it compiles as C99 and runs
// between processes is for examples/03_from_c.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tutti.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tutti/schedule.h"

namespace {

using testing::HasSubstr;

void on_ranks(uint32_t num_ranks, const std::function<void(tutti_comm*)>& body) {
  std::vector<tutti_comm*> comms(num_ranks);
  ASSERT_EQ(tutti_comm_threads(num_ranks, comms.data()), TUTTI_OK);
  std::vector<std::thread> threads;
  for (tutti_comm* const comm : comms) threads.emplace_back([&, comm] { body(comm); });
  for (std::thread& thread : threads) thread.join();
  for (tutti_comm* const comm : comms) tutti_comm_free(comm);
}

TEST(CApi, RunsEveryCollective) {
  on_ranks(3, [](tutti_comm* comm) {
    const uint32_t rank = tutti_comm_rank(comm);
    ASSERT_EQ(tutti_comm_num_ranks(comm), 3u);
    tutti_options root = TUTTI_OPTIONS_INIT;
    root.root = 2;
    const bool is_root = rank == 2;
    using Row = std::vector<int32_t>;
    const int32_t r = static_cast<int32_t>(rank);
    Row one(4, r);
    Row all(12, -1);
    Row sum(4, -1);

    ASSERT_EQ(tutti_all_reduce(comm, one.data(), sum.data(), 4, TUTTI_INT32, nullptr, nullptr),
              TUTTI_OK);
    EXPECT_EQ(sum, Row(4, 3));
    ASSERT_EQ(tutti_reduce(comm, one.data(), is_root ? sum.data() : nullptr, 4, TUTTI_INT32, &root,
                           nullptr),
              TUTTI_OK);
    ASSERT_EQ(tutti_broadcast(comm, sum.data(), 4, TUTTI_INT32, &root, nullptr), TUTTI_OK);
    EXPECT_EQ(sum, Row(4, 3));
    const Row gathered{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2};
    ASSERT_EQ(tutti_all_gather(comm, one.data(), all.data(), 4, TUTTI_INT32, nullptr, nullptr),
              TUTTI_OK);
    EXPECT_EQ(all, gathered);
    ASSERT_EQ(tutti_reduce_scatter(comm, all.data(), sum.data(), 4, TUTTI_INT32, nullptr, nullptr),
              TUTTI_OK);
    EXPECT_EQ(sum, Row(4, 3 * r));
    Row at_root(is_root ? 12 : 0);
    ASSERT_EQ(tutti_gather(comm, one.data(), at_root.data(), 4, TUTTI_INT32, &root, nullptr),
              TUTTI_OK);
    if (is_root) {
      EXPECT_EQ(at_root, gathered);
    }
    ASSERT_EQ(tutti_scatter(comm, at_root.data(), sum.data(), 4, TUTTI_INT32, &root, nullptr),
              TUTTI_OK);
    EXPECT_EQ(sum, one);
    Row turned(12);
    ASSERT_EQ(tutti_all_to_all(comm, all.data(), turned.data(), 4, TUTTI_INT32, nullptr, nullptr),
              TUTTI_OK);
    EXPECT_EQ(turned, Row(12, r));
    ASSERT_EQ(tutti_barrier(comm, nullptr, nullptr), TUTTI_OK);
  });
}

TEST(CApi, RunsEveryUnevenCollective) {
  on_ranks(3, [](tutti_comm* comm) {
    const uint32_t rank = tutti_comm_rank(comm);
    const std::array<uint64_t, 3> counts{1, 0, 3};
    using Row = std::vector<int32_t>;
    const int32_t r = static_cast<int32_t>(rank);
    const Row own(counts[rank], r);
    const Row whole{0, 2, 2, 2};
    Row all(4, -1);
    ASSERT_EQ(tutti_all_gather_v(comm, own.data(), all.data(), counts.data(), TUTTI_INT32, nullptr,
                                 nullptr),
              TUTTI_OK);
    EXPECT_EQ(all, whole);
    Row part(counts[rank]);
    ASSERT_EQ(tutti_reduce_scatter_v(comm, all.data(), part.data(), counts.data(), TUTTI_INT32,
                                     nullptr, nullptr),
              TUTTI_OK);
    EXPECT_EQ(part, Row(counts[rank], 3 * r));
    Row at_root(4, -1);
    ASSERT_EQ(tutti_gather_v(comm, own.data(), at_root.data(), counts.data(), TUTTI_INT32, nullptr,
                             nullptr),
              TUTTI_OK);
    EXPECT_EQ(at_root, rank == 0 ? whole : Row(4, -1));
    ASSERT_EQ(tutti_scatter_v(comm, at_root.data(), part.data(), counts.data(), TUTTI_INT32,
                              nullptr, nullptr),
              TUTTI_OK);
    EXPECT_EQ(part, own);
    // Rank i sends i elements to everyone.
    const std::array<uint64_t, 3> sends{rank, rank, rank};
    const std::array<uint64_t, 3> receives{0, 1, 2};
    const Row in(3 * rank, r);
    Row out(3, -1);
    ASSERT_EQ(tutti_all_to_all_v(comm, in.data(), sends.data(), out.data(), receives.data(),
                                 TUTTI_INT32, nullptr, nullptr),
              TUTTI_OK);
    EXPECT_EQ(out, (Row{1, 2, 2}));
  });
}

TEST(CApi, WorksAreWaitedForTestedAndAdded) {
  on_ranks(2, [](tutti_comm* comm) {
    const uint32_t peer = 1 - tutti_comm_rank(comm);
    const double own = tutti_comm_rank(comm);
    double theirs = -1;
    tutti_work* both = nullptr;
    tutti_work* receive = nullptr;
    ASSERT_EQ(tutti_recv(comm, &theirs, 1, TUTTI_FLOAT64, peer, nullptr, &both), TUTTI_OK);
    ASSERT_EQ(tutti_send(comm, &own, 1, TUTTI_FLOAT64, peer, nullptr, &receive), TUTTI_OK);
    tutti_work_add(both, receive);
    tutti_error code = TUTTI_NOT_YET;
    // Liveness: the peer does the same.
    while (code == TUTTI_NOT_YET) code = tutti_work_wait_for(both, 1000);
    EXPECT_EQ(code, TUTTI_OK);
    EXPECT_EQ(tutti_work_test(both), TUTTI_OK);
    EXPECT_EQ(tutti_work_wait(both), TUTTI_OK);
    tutti_work_free(both);
    EXPECT_EQ(theirs, peer);
  });
}

TEST(CApi, AbortsWhatIsUnderWay) {
  on_ranks(2, [](tutti_comm* comm) {
    if (tutti_comm_rank(comm) == 1) return;
    double never = 0;
    tutti_work* work = nullptr;
    ASSERT_EQ(tutti_recv(comm, &never, 1, TUTTI_FLOAT64, 1, nullptr, &work), TUTTI_OK);
    EXPECT_EQ(tutti_work_test(work), TUTTI_NOT_YET);
    tutti_comm_abort(comm);
    EXPECT_EQ(tutti_work_wait(work), TUTTI_ABORTED);
    EXPECT_THAT(tutti_last_error(), HasSubstr("rank 0 aborted the communicator"));
    tutti_work_free(work);
  });
}

TEST(CApi, MakesCommunicatorsOfCommunicators) {
  on_ranks(4, [](tutti_comm* comm) {
    const uint32_t rank = tutti_comm_rank(comm);
    tutti_comm* parity = nullptr;
    ASSERT_EQ(tutti_comm_split(comm, rank % 2, 0, nullptr, &parity), TUTTI_OK);
    EXPECT_EQ(tutti_comm_num_ranks(parity), 2u);
    EXPECT_EQ(tutti_comm_rank(parity), rank / 2);
    tutti_comm* rest = nullptr;
    ASSERT_EQ(tutti_comm_shrink(parity, nullptr, &rest), TUTTI_OK);
    tutti_comm* copy = nullptr;
    ASSERT_EQ(tutti_comm_duplicate(rest, &copy), TUTTI_OK);
    ASSERT_EQ(tutti_barrier(copy, nullptr, nullptr), TUTTI_OK);
    const uint32_t alone[] = {rank};
    tutti_comm* self = nullptr;
    ASSERT_EQ(tutti_comm_subset(comm, alone, 1, &self), TUTTI_OK);
    EXPECT_EQ(tutti_comm_num_ranks(self), 1u);
    for (tutti_comm* const made : {parity, rest, copy, self}) tutti_comm_free(made);
  });
}

TEST(CApi, SaysWhatIsWrongAtOnce) {
  on_ranks(1, [](tutti_comm* comm) {
    float data[4] = {};
    const auto refusal = [&](tutti_error code) {
      EXPECT_EQ(code, TUTTI_INVALID_ARGUMENT);
      return std::string(tutti_last_error());
    };
    tutti_work* work = nullptr;
    const auto no_type = static_cast<tutti_type>(14);
    EXPECT_THAT(refusal(tutti_all_reduce(comm, data, data, 4, no_type, nullptr, &work)),
                HasSubstr("no such type"));
    EXPECT_EQ(work, nullptr);
    EXPECT_THAT(refusal(tutti_all_reduce(nullptr, data, data, 4, TUTTI_FLOAT32, nullptr, &work)),
                HasSubstr("comm is NULL"));
    EXPECT_THAT(refusal(tutti_all_reduce(comm, nullptr, data, 4, TUTTI_FLOAT32, nullptr, &work)),
                HasSubstr("input is null"));
    EXPECT_THAT(refusal(tutti_send(comm, data, 4, TUTTI_FLOAT32, 3, nullptr, &work)),
                HasSubstr("peer 3 of 1 ranks"));
    EXPECT_THAT(refusal(tutti_all_gather(comm, data, data, UINT64_MAX / 2, TUTTI_FLOAT32, nullptr,
                                         nullptr)),
                HasSubstr("more than memory can hold"));
    EXPECT_THAT(refusal(tutti_comm_threads(0, &comm)), HasSubstr("at least one rank"));
    EXPECT_STREQ(tutti_error_text(TUTTI_PEER_LOST), "peer lost");
    EXPECT_STREQ(tutti_error_text(TUTTI_NOT_YET), "still under way");
    EXPECT_EQ(tutti_type_size(TUTTI_BFLOAT16), 2u);
    EXPECT_EQ(tutti_type_size(no_type), 0u);
  });
}

// A caller that was compiled against a later header, with more options.
TEST(CApi, TakesLongerOptionsAsLongAsTheyAreNotUsed) {
  on_ranks(1, [](tutti_comm* comm) {
    struct Later {
      tutti_options known = TUTTI_OPTIONS_INIT;
      uint64_t more = 0;
    };
    Later later;
    later.known.size = sizeof later;
    EXPECT_EQ(tutti_barrier(comm, &later.known, nullptr), TUTTI_OK);
    later.more = 1;
    EXPECT_EQ(tutti_barrier(comm, &later.known, nullptr), TUTTI_UNSUPPORTED);
    later.known.size = 8;
    EXPECT_EQ(tutti_barrier(comm, &later.known, nullptr), TUTTI_INVALID_ARGUMENT);
  });
}

TEST(CApi, AllocatesMemoryThatOutlivesItsCommunicator) {
  std::array<tutti_memory*, 2> memories{};
  on_ranks(2, [&](tutti_comm* comm) {
    tutti_memory*& memory = memories[tutti_comm_rank(comm)];
    ASSERT_EQ(tutti_memory_allocate(comm, 1000 * sizeof(double), &memory), TUTTI_OK);
    auto* const data = static_cast<double*>(tutti_memory_data(memory));
    data[999] = 1.5;
    ASSERT_EQ(tutti_all_reduce(comm, data, data, 1000, TUTTI_FLOAT64, nullptr, nullptr), TUTTI_OK);
  });
  for (tutti_memory* const memory : memories) {
    const auto* const data = static_cast<const double*>(tutti_memory_data(memory));
    EXPECT_EQ(data[998], 0);
    EXPECT_EQ(data[999], 3);
    tutti_memory_free(memory);
  }
  tutti_memory_free(nullptr);
}

TEST(CApi, SaysWhatIsWrongWithAnAllocation) {
  tutti_comm* comm = nullptr;
  ASSERT_EQ(tutti_comm_threads(1, &comm), TUTTI_OK);
  tutti_memory* memory = nullptr;
  EXPECT_EQ(tutti_memory_allocate(comm, SIZE_MAX, &memory), TUTTI_OUT_OF_MEMORY);
  EXPECT_THAT(tutti_last_error(), HasSubstr("shared buffer"));
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(tutti_memory_allocate(nullptr, 1, &memory), TUTTI_INVALID_ARGUMENT);
  EXPECT_EQ(tutti_memory_allocate(comm, 1, nullptr), TUTTI_INVALID_ARGUMENT);
  ASSERT_EQ(tutti_memory_allocate(comm, 0, &memory), TUTTI_OK);
  EXPECT_EQ(tutti_memory_data(memory), nullptr);
  tutti_memory_free(memory);
  tutti_comm_free(comm);
}

TEST(CApi, FollowsAScheduleFromAFile) {
  const std::string path = testing::TempDir() + "c_api_ring" + std::to_string(getpid()) + ".json";
  const tutti::Collective all_reduce{tutti::CollectiveKind::kAllReduce, 3};
  std::ofstream(path) << tutti::Schedule::plan(all_reduce, "ring").value().to_json();
  on_ranks(3, [&](tutti_comm* comm) {
    tutti_comm* follower = nullptr;
    ASSERT_EQ(tutti_comm_with_schedule(comm, path.c_str(), nullptr, nullptr, &follower), TUTTI_OK);
    std::vector<int32_t> row(10, 1);
    ASSERT_EQ(tutti_all_reduce(follower, row.data(), row.data(), 10, TUTTI_INT32, nullptr, nullptr),
              TUTTI_OK);
    EXPECT_EQ(row, std::vector<int32_t>(10, 3));
    const tutti_byte_range few = {0, 8};
    tutti_comm* another = nullptr;
    EXPECT_EQ(tutti_comm_with_schedule(follower, path.c_str(), &few, nullptr, &another),
              TUTTI_INVALID_ARGUMENT);
    EXPECT_THAT(tutti_last_error(), HasSubstr("the same calls"));
    EXPECT_EQ(tutti_comm_with_schedule(comm, "/nowhere", &few, nullptr, &another), TUTTI_NOT_FOUND);
    EXPECT_THAT(tutti_last_error(), HasSubstr("/nowhere"));
    EXPECT_EQ(another, nullptr);
    EXPECT_EQ(tutti_comm_with_schedule(comm, nullptr, &few, nullptr, &another),
              TUTTI_INVALID_ARGUMENT);
    tutti_comm_free(follower);
  });
  std::remove(path.c_str());
}

}  // namespace
