#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "frontends/nccl/nccl_abi.h"
#include "tests/unit/nccl/facts.h"

namespace tutti {
namespace {

test::Facts our_facts() { return {TUTTI_FACTS}; }

TEST(NcclAbi, AFactIsAboutLayoutAndValues) {
  const test::Facts facts = our_facts();
  const std::set all(facts.begin(), facts.end());
  EXPECT_TRUE(all.contains({"size of ncclUniqueId", "128"}));
  EXPECT_TRUE(all.contains({"ncclConfig_t.blocking", "16"}));
  EXPECT_TRUE(
      all.contains({"ncclSend", "number 4 of pointer number 8 number 4 number 4 pointer pointer"}));
}

#ifdef TUTTI_NCCL_REAL

TEST(NcclAbi, IsThatOfTheRealHeader) {
  if (test::real_version() / 100 != nccl::kVersion / 100) {
    GTEST_SKIP() << "nccl.h is of version " << test::real_version();
  }
  EXPECT_EQ(our_facts(), test::real_facts());
}

TEST(NcclAbi, HasEveryFunctionOfTheRealHeader) {
  if (test::real_version() / 100 != nccl::kVersion / 100) {
    GTEST_SKIP() << "nccl.h is of version " << test::real_version();
  }
  std::set<std::string> ours;
  for (const auto& [name, what] : our_facts()) ours.insert(name);
  std::ifstream file(TUTTI_NCCL_REAL);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::regex declared(R"((?:ncclResult_t|const char\*|void)\s+(nccl\w+)\()");
  int num_found = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), declared), end; at != end; ++at) {
    ++num_found;
    EXPECT_TRUE(ours.contains((*at)[1])) << (*at)[1];
  }
  EXPECT_GE(num_found, 40);
}

#endif

}  // namespace
}  // namespace tutti
