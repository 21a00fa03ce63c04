#include "engine/cuda/near_programs.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

namespace tutti::test {
namespace {

using engine::cuda::DeviceProgram;
using engine::cuda::NearPrograms;
using engine::cuda::Submission;

struct CopyingMachine {
  static void copy(void* to, const void* from, uint64_t bytes) { std::memcpy(to, from, bytes); }
};

// A program whose only table is of members: neighbours `first` and up.
struct TestProgram {
  TestProgram(uint32_t image_bytes, uint32_t first) : members(image_bytes / sizeof(uint32_t)) {
    fill(first);
    header.image = reinterpret_cast<const std::byte*>(members.data());
    header.image_bytes = image_bytes;
    header.members = members.data();
  }
  void fill(uint32_t first) {
    for (uint32_t& member : members) member = first++;
  }
  [[nodiscard]] Submission issued(uint32_t number) const {
    Submission out{};
    out.program = &header;
    out.program_number = number;
    return out;
  }

  std::vector<uint32_t> members;
  DeviceProgram header{};
};

class NearProgramsTest : public testing::Test {
 protected:
  NearProgramsTest() { near_->clear(); }
  // What a block sees as the last member.
  uint32_t last_member(const TestProgram& program, uint32_t number) {
    const Submission issued = program.issued(number);
    const DeviceProgram* const known = near_->find(issued);
    const DeviceProgram& seen = known != nullptr ? *known : near_->fetch(issued, machine_);
    return seen.members[program.members.size() - 1];
  }
  [[nodiscard]] bool knows(const TestProgram& program, uint32_t number) const {
    return near_->find(program.issued(number)) != nullptr;
  }

  CopyingMachine machine_;
  std::unique_ptr<NearPrograms> near_ = std::make_unique<NearPrograms>();
};

TEST_F(NearProgramsTest, WhatIsHereIsNotLookedAtAgain) {
  TestProgram program(64, 100);
  EXPECT_FALSE(knows(program, 1));
  EXPECT_EQ(last_member(program, 1), 115u);
  program.fill(200);
  EXPECT_EQ(last_member(program, 1), 115u);
}

// Memory of a program that was forgotten is another's.
TEST_F(NearProgramsTest, AProgramInTheMemoryOfAnotherIsAnother) {
  uint32_t number = 0;
  for (const uint32_t image_bytes : {64u, 64'000u}) {
    TestProgram program(image_bytes, 0);
    const uint32_t last = image_bytes / 4 - 1;
    for (int i = 0; i < 10; ++i) {
      program.fill(++number * 1000);
      EXPECT_EQ(last_member(program, number), number * 1000 + last);
    }
  }
}

TEST_F(NearProgramsTest, TheLastTwoAreHereAndOneThatIsTooLarge) {
  std::array<TestProgram, 3> small{TestProgram(64, 0), TestProgram(64, 50), TestProgram(64, 100)};
  const TestProgram large(64'000, 150);
  EXPECT_EQ(last_member(large, 1), 150u + 15'999u);
  for (const TestProgram& program : small) static_cast<void>(last_member(program, 1));
  EXPECT_FALSE(knows(small[0], 1));
  EXPECT_TRUE(knows(small[1], 1) && knows(small[2], 1) && knows(large, 1));
  near_->clear();
  EXPECT_FALSE(knows(small[1], 1) || knows(small[2], 1) || knows(large, 1));
}

}  // namespace
}  // namespace tutti::test
