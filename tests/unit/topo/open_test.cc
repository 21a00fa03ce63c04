#include "topo/open.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "tests/unit/topo/golden.h"
#include "tests/unit/topo/same.h"

namespace tutti::topo {
namespace {

TEST(Open, TellsFormatsByTheirContent) {
  EXPECT_EQ(read_topology(golden_path("dgx-1v.json")).value().name, "dgx-1v");
  EXPECT_EQ(read_topology(golden_path("nvswitch.xml")).value().name, "nvswitch.xml");
  EXPECT_EQ(read_topology(golden_path("mesh.smi.txt")).value().name, "mesh.smi.txt");
}

TEST(Open, TakesMachinesFilesAndClustersOfBoth) {
  expect_same(open("dgx-1v").value(), open(golden_path("dgx-1v.json")).value());
  expect_same(open("rail:dgx-1v*2").value(),
              open("rail:" + golden_path("dgx-1v.json") + "*2").value());
  EXPECT_EQ(open(golden_path("two-sockets.xml") + "*3").value().num_ranks(), 9u);
}

TEST(Open, SaysWhatThereIsWhenItKnowsNeither) {
  const auto result = open("dgx-1w");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(result.error().message,
            "no machine 'dgx-1w'; did you mean dgx-1p? There are: dgx-1p, dgx-1v, ndv2, dgx-2, "
            "dgx-a100, dgx-h100, nvl72, mi250x, mi300x, ring:N, torus:AxB[xC], grid:AxB[xC], "
            "mesh:N, switch:N; also "
            "host, and files");
}

TEST(Open, RefusesTextThatIsNoTopology) {
  for (const std::string text : {"", "\n\n", "hello", "[1]"}) {
    const auto result = parse_topology(text, "t");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kMalformed);
    EXPECT_EQ(
        result.error().message,
        "t:1: not a topology: neither JSON nor NCCL's XML nor the matrix of nvidia-smi topo -m");
  }
}

// A byte changed, a piece dropped, a piece doubled: either refused with its place or a topology
// that passes the check, and never a crash.
TEST(Open, SurvivesDamagedFiles) {
  const char* const given = std::getenv("TUTTI_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 7;
  SCOPED_TRACE(fmt::format("TUTTI_SEED={}", seed));
  std::mt19937_64 random(seed);
  size_t num_refused = 0;
  for (const char* name :
       {"rails.json", "two-sockets.xml", "nvswitch.xml", "mesh.smi.txt", "nvswitch.smi.txt"}) {
    const std::string whole = golden_text(name);
    for (int round = 0; round < 300; ++round) {
      std::string text = whole;
      const size_t at = random() % text.size();
      const size_t length = 1 + random() % 20;
      switch (random() % 4) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, length); break;
        case 2: text.insert(at, text.substr(random() % text.size(), length)); break;
        default: text[at] = "0123456789-\"<>/{}[]"[random() % 19];
      }
      const auto result = parse_topology(text, "t");
      if (result) {
        EXPECT_TRUE(check(*result)) << text;
        continue;
      }
      ++num_refused;
      EXPECT_EQ(result.error().code, ErrorCode::kMalformed) << text;
      EXPECT_EQ(result.error().message.rfind("t:", 0), 0u) << result.error().message;
    }
  }
  EXPECT_GT(num_refused, 300u);
}

}  // namespace
}  // namespace tutti::topo
