// A system that does not let processes read each other, as in many containers.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "base/check.h"
#include "tests/support/shm_ranks.h"

namespace tutti::transport {
namespace {

constexpr size_t kRefusedSegmentBytes = size_t{1} << 20;

// Of this thread, for good.
void refuse_reading() {
  std::array<sock_filter, 4> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{filter.size(), filter.data()};
  TUTTI_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "always allowed");
  TUTTI_CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "allowed then");
}

TEST(RefusedReading, IsKnownOnceRanksHaveMet) {
  for (const auto& rank : test::shm_ranks(2, kRefusedSegmentBytes, refuse_reading)) {
    EXPECT_FALSE(rank->endpoint().can_pull());
  }
  for (const auto& rank : test::shm_ranks(2, kRefusedSegmentBytes)) {
    EXPECT_TRUE(rank->endpoint().can_pull());
  }
}

}  // namespace
}  // namespace tutti::transport
