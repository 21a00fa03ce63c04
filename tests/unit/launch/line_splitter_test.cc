#include "tools/launch/line_splitter.h"

#include <gtest/gtest.h>

#include <random>

namespace tutti::tools::launch {
namespace {

constexpr size_t kRoom = 100;

TEST(LineSplitter, PassesWholeLinesOnAndHoldsTheRest) {
  LineSplitter lines(kRoom);
  EXPECT_EQ(lines.add("one\ntwo\nth"), "one\ntwo\n");
  EXPECT_EQ(lines.num_held(), 2u);
  EXPECT_EQ(lines.add("re"), "");
  EXPECT_EQ(lines.add("e\n"), "three\n");
  EXPECT_EQ(lines.num_held(), 0u);
}

TEST(LineSplitter, EmptyLinesAreLines) {
  LineSplitter lines(kRoom);
  EXPECT_EQ(lines.add("\n\n"), "\n\n");
  EXPECT_EQ(lines.add(""), "");
}

TEST(LineSplitter, FlushGivesTheUnfinishedLineOnce) {
  LineSplitter lines(kRoom);
  EXPECT_EQ(lines.add("a\nname: "), "a\n");
  EXPECT_EQ(lines.flush(), "name: ");
  EXPECT_EQ(lines.flush(), "");
  EXPECT_EQ(lines.add("x\n"), "x\n");
}

TEST(LineSplitter, ALineTooLongToHoldGoesOutInPieces) {
  LineSplitter lines(4);
  EXPECT_EQ(lines.add("abc"), "");
  EXPECT_EQ(lines.add("d"), "abcd");
  EXPECT_EQ(lines.add("e\nfghij"), "e\nfghij");
  EXPECT_EQ(lines.num_held(), 0u);
}

TEST(LineSplitter, BytesAreOnlyBytes) {
  const std::string bytes("\0\r\xff\n\0", 5);
  LineSplitter lines(kRoom);
  EXPECT_EQ(lines.add(bytes), bytes.substr(0, 4));
  EXPECT_EQ(lines.flush(), std::string("\0", 1));
}

TEST(LineSplitter, LosesNothingHoweverTheBytesArrive) {
  std::mt19937 random(7);
  std::string all;
  for (int i = 0; i < 5000; ++i) all += random() % 9 == 0 ? '\n' : 'x';
  LineSplitter lines(17);
  std::string out;
  for (size_t at = 0; at < all.size();) {
    const size_t length = random() % 30;
    out += lines.add(std::string_view(all).substr(at, length));
    at += length;
  }
  out += lines.flush();
  EXPECT_EQ(out, all);
}

TEST(MaxHeldBytes, KeepsAMebibyteWholeForAHundredRanksAndStaysWithinABudget) {
  for (const uint32_t ranks : {1u, 2u, 16u, 100u}) EXPECT_GE(max_held_bytes(ranks), 1u << 20);
  for (const uint32_t ranks : {1u, 7u, 128u, 1000u, 4096u}) {
    EXPECT_LE(max_held_bytes(ranks) * 2 * ranks, size_t{512} << 20);
    EXPECT_GE(max_held_bytes(ranks), 64u << 10);
  }
}

}  // namespace
}  // namespace tutti::tools::launch
