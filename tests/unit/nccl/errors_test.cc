// Wrong arguments, what is not served, and the texts for both.
#include "frontends/nccl/errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/nccl/nccl_ranks.h"

extern "C" ncclResult_t pncclAllReduce(const void* input, void* output, size_t count,
                                       ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                       cudaStream_t stream);
extern "C" ncclResult_t ncclDevCommCreate(ncclComm_t comm, const void* requirements, void* made);

namespace tutti {
namespace {

using test::NcclRank;
using test::on_nccl_ranks;
using testing::HasSubstr;

TEST(NcclErrors, EveryCodeHasItsOwnText) {
  for (int code = 0; code < ncclNumResults; ++code) {
    for (int other = 0; other < code; ++other) {
      EXPECT_STRNE(ncclGetErrorString(static_cast<ncclResult_t>(code)),
                   ncclGetErrorString(static_cast<ncclResult_t>(other)));
    }
  }
  EXPECT_STREQ(ncclGetErrorString(ncclNumResults), "no such code");
}

TEST(NcclErrors, LostRanksAreTheOthersFault) {
  EXPECT_EQ(nccl::code_of(ErrorCode::kPeerLost), ncclRemoteError);
  EXPECT_EQ(nccl::code_of(ErrorCode::kDeadline), ncclRemoteError);
  EXPECT_EQ(nccl::code_of(ErrorCode::kIo), ncclSystemError);
  EXPECT_EQ(nccl::code_of(ErrorCode::kUnsupported), ncclInvalidUsage);
}

TEST(NcclErrors, TheVersionIsOfNccl2Point28) {
  int version = 0;
  TUTTI_OK(ncclGetVersion(&version));
  EXPECT_EQ(version / 100, 228);
  EXPECT_EQ(ncclGetVersion(nullptr), ncclInvalidArgument);
}

TEST(NcclErrors, NoCommunicatorIsRefusedByAll) {
  int64_t data = 0;
  int number = 0;
  ncclResult_t result = ncclSuccess;
  ncclRedOp_t op = ncclSum;
  void* handle = nullptr;
  EXPECT_EQ(ncclAllReduce(&data, &data, 1, ncclInt64, ncclSum, nullptr, nullptr),
            ncclInvalidArgument);
  EXPECT_STREQ(ncclGetLastError(nullptr), "comm is NULL");
  EXPECT_EQ(ncclSend(&data, 1, ncclInt64, 0, nullptr, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommCount(nullptr, &number), ncclInvalidArgument);
  EXPECT_EQ(ncclCommCuDevice(nullptr, &number), ncclInvalidArgument);
  EXPECT_EQ(ncclCommUserRank(nullptr, &number), ncclInvalidArgument);
  EXPECT_EQ(ncclCommGetAsyncError(nullptr, &result), ncclInvalidArgument);
  EXPECT_EQ(ncclCommRevoke(nullptr, 0), ncclInvalidArgument);
  EXPECT_EQ(ncclCommRegister(nullptr, &data, 8, &handle), ncclInvalidArgument);
  EXPECT_EQ(ncclRedOpCreatePreMulSum(&op, &data, ncclInt64, ncclScalarHostImmediate, nullptr),
            ncclInvalidArgument);
  // Neither is anything else that a pointer can point to.
  uint64_t noise[64] = {};
  auto* const no_comm = reinterpret_cast<ncclComm_t>(noise);
  EXPECT_EQ(ncclAllReduce(&data, &data, 1, ncclInt64, ncclSum, no_comm, nullptr),
            ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("no communicator"));
}

TEST(NcclErrors, WrongArgumentsOfCallsAreRefused) {
  on_nccl_ranks(1, [](NcclRank& self) {
    int64_t data[2] = {};
    const auto bad_type = static_cast<ncclDataType_t>(12);
    const auto bad_op = static_cast<ncclRedOp_t>(5);
    EXPECT_EQ(ncclAllReduce(data, data, 1, bad_type, ncclSum, self.comm, nullptr),
              ncclInvalidArgument);
    EXPECT_STREQ(ncclGetLastError(nullptr), "no such type of elements: 12");
    EXPECT_EQ(ncclAllReduce(data, data, 1, ncclInt64, bad_op, self.comm, nullptr),
              ncclInvalidArgument);
    EXPECT_STREQ(ncclGetLastError(nullptr), "no such operator of this communicator: 5");
    EXPECT_EQ(ncclReduce(data, data, 1, ncclInt64, ncclSum, 1, self.comm, nullptr),
              ncclInvalidArgument);
    EXPECT_EQ(ncclBroadcast(data, data, 1, ncclInt64, -1, self.comm, nullptr), ncclInvalidArgument);
    EXPECT_STREQ(ncclGetLastError(nullptr), "broadcast: root or peer -1 of 1 ranks");
    EXPECT_EQ(ncclAllReduce(nullptr, data, 1, ncclInt64, ncclSum, self.comm, nullptr),
              ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(data, nullptr, 1, ncclInt64, ncclSum, self.comm, nullptr),
              ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(data, &data[1], 2, ncclInt64, ncclSum, self.comm, nullptr),
              ncclInvalidArgument);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("overlap"));
    EXPECT_EQ(ncclAllGather(data, &data[1], SIZE_MAX, ncclInt64, self.comm, nullptr),
              ncclInvalidArgument);
    EXPECT_EQ(ncclCommCount(self.comm, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommGetAsyncError(self.comm, nullptr), ncclInvalidArgument);
  });
}

TEST(NcclErrors, MemoryOfTheDeviceComesAndGoes) {
  void* memory = &memory;
  TUTTI_OK(ncclMemAlloc(&memory, 0));
  EXPECT_EQ(memory, nullptr);
  TUTTI_OK(ncclMemAlloc(&memory, 100));
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(test::num_device_allocations(), 1);
  TUTTI_OK(ncclMemFree(memory));
  EXPECT_EQ(test::num_device_allocations(), 0);
  TUTTI_OK(ncclMemFree(nullptr));
  int64_t other = 0;
  EXPECT_EQ(ncclMemFree(&other), ncclInvalidArgument);
  EXPECT_EQ(ncclMemAlloc(nullptr, 100), ncclInvalidArgument);
}

TEST(NcclErrors, RegisteringIsAcceptedAndWindowsAreNone) {
  on_nccl_ranks(1, [](NcclRank& self) {
    int64_t data = 0;
    void* handle = nullptr;
    TUTTI_OK(ncclCommRegister(self.comm, &data, sizeof data, &handle));
    EXPECT_NE(handle, nullptr);
    TUTTI_OK(ncclCommDeregister(self.comm, handle));
    ncclWindow_t window = nullptr;
    TUTTI_OK(ncclCommWindowRegister(self.comm, &data, sizeof data, &window, 0));
    EXPECT_EQ(window, nullptr);
    TUTTI_OK(ncclCommWindowDeregister(self.comm, window));
  });
}

TEST(NcclErrors, KernelsThatCommunicateAreNotServed) {
  on_nccl_ranks(1, [](NcclRank& self) {
    EXPECT_EQ(ncclDevCommCreate(self.comm, nullptr, nullptr), ncclInvalidUsage);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("not served"));
  });
}

TEST(NcclErrors, ProfilersFindTheSecondNames) {
  on_nccl_ranks(1, [](NcclRank& self) {
    int64_t in = 4;
    int64_t out = 0;
    TUTTI_OK(pncclAllReduce(&in, &out, 1, ncclInt64, ncclSum, self.comm, &self.stream));
    self.stream.synchronize();
    EXPECT_EQ(out, 4);
  });
}

}  // namespace
}  // namespace tutti
