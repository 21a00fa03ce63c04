// What boards say together, and in which words.
#include "comm/diagnosis/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "comm/diagnosis/report.h"
#include "tutti/collective.h"
#include "tutti/data_type.h"

namespace tutti::comm {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kNow = 1000 * kSecond;

BoardEntry all_reduce(uint64_t id, std::string_view name, uint32_t num_ranks) {
  BoardEntry entry;
  entry.id = id;
  entry.issued_ns = entry.moved_ns = kNow - 12 * kSecond;
  entry.signature.count = 1024;
  entry.signature.collective = static_cast<uint8_t>(CollectiveKind::kAllReduce);
  entry.signature.type = static_cast<uint8_t>(DataType::kFloat32);
  entry.name.assign(name);
  for (uint32_t r = 0; r < num_ranks; ++r) entry.members.add(r);
  return entry;
}

std::optional<Board> empty_board() {
  Board board;
  board.published_ns = kNow - kSecond / 2;
  board.process = 77;
  return board;
}

void put(std::optional<Board>& board, BoardEntry entry, bool is_waited) {
  entry.is_waited = is_waited ? 1 : 0;
  board->under_way[board->num_shown++] = entry;
  board->num_under_way = board->num_shown;
}

void put_ended(std::optional<Board>& board, BoardEntry entry) {
  entry.outcome = engine::Outcome::kDone;
  entry.ended_ns = kNow - 13 * kSecond;
  board->recent[board->num_recent++] = entry;
  board->ended_ids[board->num_ended_ids++] = entry.id;
}

std::vector<std::optional<Board>> boards(uint32_t num_ranks) {
  return std::vector<std::optional<Board>>(num_ranks, empty_board());
}

TEST(Findings, NameWhoHasNotCalledAnOperation) {
  auto all = boards(4);
  put(all[0], all_reduce(1, "grad", 4), true);
  put(all[2], all_reduce(1, "grad", 4), false);
  put_ended(all[3], all_reduce(1, "grad", 4));
  const Findings findings = find(all, kNow);
  ASSERT_EQ(findings.operations.size(), 1u);
  EXPECT_THAT(findings.operations[0].inside, ElementsAre(0, 2));
  EXPECT_THAT(findings.operations[0].absent, ElementsAre(1));
  EXPECT_THAT(findings.operations[0].finished, ElementsAre(3));
  EXPECT_THAT(findings.ring, IsEmpty());
}

TEST(Findings, CountOnlyMembers) {
  auto all = boards(4);
  put(all[0], all_reduce(1, "pair", 2), true);
  const Findings findings = find(all, kNow);
  EXPECT_THAT(findings.operations[0].absent, ElementsAre(1));
  EXPECT_THAT(wait_report(findings, kSecond), HasSubstr("among ranks 0, 1"));
}

TEST(Findings, SeeRanksThatWaitForEachOtherInARing) {
  auto all = boards(3);
  put(all[0], all_reduce(1, "a", 3), true);
  put(all[1], all_reduce(2, "b", 3), true);
  put(all[2], all_reduce(1, "a", 3), false);
  put(all[2], all_reduce(2, "b", 3), true);
  const Findings findings = find(all, kNow);
  ASSERT_EQ(findings.ring.size(), 2u);
  EXPECT_EQ(
      describe_ring(findings),
      "rank 0 waits in all_reduce \"a\" for rank 1, rank 1 waits in all_reduce \"b\" for rank "
      "0");
}

BoardEntry behind(BoardEntry entry, uint64_t other) {
  entry.is_on_gpu = 1;
  entry.behind = other;
  return entry;
}

TEST(Findings, SeeStreamsThatWaitForEachOtherInARing) {
  auto all = boards(2);
  put(all[0], behind(all_reduce(1, "a", 2), 0), false);
  put(all[0], behind(all_reduce(2, "b", 2), 1), false);
  put(all[1], behind(all_reduce(2, "b", 2), 0), false);
  put(all[1], behind(all_reduce(1, "a", 2), 2), false);
  const Findings findings = find(all, kNow);
  EXPECT_THAT(findings.ring, IsEmpty());
  EXPECT_THAT(findings.operations[0].inside, ElementsAre(0));
  EXPECT_THAT(findings.operations[0].queued, ElementsAre(1));
  EXPECT_THAT(findings.operations[0].absent, IsEmpty());
  EXPECT_THAT(
      wait_report(findings, kSecond),
      AllOf(HasSubstr("all_reduce \"a\" of 1024 float32, sum, on the GPU: no progress for 12.0 s\n"
                      "    called by rank 0\n    in a stream of rank 1, behind others\n"),
            HasSubstr("streams wait for each other in a ring: all_reduce \"a\" is behind "
                      "all_reduce \"b\" on rank 1, all_reduce \"b\" is behind all_reduce \"a\" on "
                      "rank 0\n")));
}

TEST(Findings, TakeNoRingFromStreamsInOneOrder) {
  auto all = boards(2);
  for (auto& board : all) {
    put(board, behind(all_reduce(1, "a", 2), 0), false);
    put(board, behind(all_reduce(2, "b", 2), 1), false);
  }
  const Findings findings = find(all, kNow);
  EXPECT_THAT(findings.stream_ring, IsEmpty());
  // What is behind others everywhere waits for its turn, and is no news.
  EXPECT_THAT(
      wait_report(findings, kSecond),
      AllOf(HasSubstr("1 operation of the job makes no progress"), Not(HasSubstr("\"b\""))));
}

TEST(Findings, TakeNoRingFromARankThatComputes) {
  auto all = boards(2);
  put(all[0], all_reduce(1, "a", 2), true);
  put(all[1], all_reduce(2, "b", 2), false);
  EXPECT_THAT(find(all, kNow).ring, IsEmpty());
}

TEST(Findings, FindLongRingsToo) {
  auto all = boards(5);
  for (uint32_t r = 0; r < 5; ++r) {
    BoardEntry entry = all_reduce(r + 1, std::to_string(r), 0);
    entry.members.add(r);
    entry.members.add((r + 1) % 5);
    put(all[r], entry, true);
  }
  EXPECT_EQ(find(all, kNow).ring.size(), 5u);
}

TEST(Findings, AreUnsureWhereABoardDoesNotTell) {
  auto all = boards(4);
  BoardEntry broadcast = all_reduce(1, "weights", 4);
  broadcast.signature.collective = static_cast<uint8_t>(CollectiveKind::kBroadcast);
  put(all[0], broadcast, true);
  all[1] = std::nullopt;
  all[2]->num_under_way = 10'000;
  // It may have been the root, and done with it long ago.
  all[3]->remembers_since_ns = broadcast.issued_ns - kSecond;
  EXPECT_THAT(find(all, kNow).operations[0].unsure, ElementsAre(1, 2, 3));
  all[3]->remembers_since_ns = broadcast.issued_ns - 60 * kSecond;
  EXPECT_THAT(find(all, kNow).operations[0].absent, ElementsAre(3));
}

TEST(Findings, PointOutRanksThatShowNoSignOfLife) {
  auto all = boards(2);
  put(all[0], all_reduce(1, "a", 2), true);
  put(all[1], all_reduce(1, "a", 2), true);
  all[1]->published_ns = kNow - 11 * kSecond;
  const Findings findings = find(all, kNow);
  EXPECT_THAT(findings.silent, ElementsAre(1));
  EXPECT_THAT(wait_report(findings, kSecond),
              AllOf(HasSubstr("called by ranks 0, 1, all that have to"),
                    HasSubstr("rank 1 (process 77) has given no sign of life for 11.0 s")));
}

TEST(WaitReport, SaysWhoIsMissingAndWhatTheyDoInstead) {
  auto all = boards(3);
  put(all[0], all_reduce(1, "a", 3), true);
  put(all[1], all_reduce(2, "b", 3), true);
  BoardEntry barrier = all_reduce(3, "", 3);
  barrier.signature.collective = static_cast<uint8_t>(CollectiveKind::kBarrier);
  barrier.number = 7;
  put_ended(all[1], barrier);
  EXPECT_EQ(
      wait_report(find(all, kNow), 10 * kSecond),
      "tutti: 2 operations of the job make no progress\n"
      "  all_reduce \"a\" of 1024 float32, sum: no progress for 12.0 s\n"
      "    called by rank 0\n"
      "    not called by ranks 1, 2\n"
      "      rank 1 has waited in all_reduce \"b\" for 12.0 s; last completed barrier #7, 13.0 s "
      "ago\n"
      "      rank 2 is in no operation; it has completed none\n"
      "  all_reduce \"b\" of 1024 float32, sum: no progress for 12.0 s\n"
      "    called by rank 1\n"
      "    not called by ranks 0, 2\n"
      "      rank 0 has waited in all_reduce \"a\" for 12.0 s; it has completed none\n"
      "      rank 2 is in no operation; it has completed none\n"
      "  ranks wait for each other in a ring: rank 0 waits in all_reduce \"a\" for rank 1, rank "
      "1 waits in all_reduce \"b\" for rank 0\n");
}

void put_prepared(std::optional<Board>& board, BoardEntry entry) {
  entry.is_on_gpu = entry.is_prepared = 1;
  board->prepared[board->num_prepared_shown++] = entry;
  board->num_prepared = board->num_prepared_shown;
}

// The daemon has been there for as long.
void put_launch(std::optional<Board>& board, uint64_t ns) {
  board->launch = 5;
  board->here_since_ns = board->published_ns - ns;
}

TEST(Findings, NameWhoHasNotPreparedWhatOthersMayBegin) {
  auto all = boards(5);
  for (const uint32_t r : {0u, 2u}) put_prepared(all[r], all_reduce(1, "grads", 4));
  all[2]->prepared[0].outcome = engine::Outcome::kFailed;
  all[3]->num_prepared = 1000;
  const Findings findings = find(all, kNow);
  EXPECT_THAT(findings.operations, IsEmpty());
  ASSERT_EQ(findings.prepared.size(), 1u);
  EXPECT_THAT(findings.prepared[0].inside, ElementsAre(0, 2));
  EXPECT_THAT(findings.prepared[0].failed, ElementsAre(2));
  EXPECT_THAT(findings.prepared[0].absent, ElementsAre(1));
  EXPECT_THAT(findings.prepared[0].unsure, ElementsAre(3));
}

TEST(Findings, SayOfWhatWasBegunWhatDaemonsShow) {
  auto all = boards(6);
  for (uint32_t r = 0; r < 5; ++r) put_prepared(all[r], all_reduce(1, "grads", 5));
  put_launch(all[1], 10 * kSecond);
  put_launch(all[2], 20 * kSecond);
  put_launch(all[3], kSecond / 10);  // it may have nothing to do, and go in a moment
  put_launch(all[4], 10 * kSecond);  // for its streams
  all[4]->num_streams = 1;
  const Findings findings = find(all, kNow);
  EXPECT_THAT(findings.begun.at_rest, ElementsAre(0));
  EXPECT_THAT(findings.begun.under_way, ElementsAre(1, 2));
  EXPECT_EQ(findings.begun.since_ns, all[1]->here_since_ns);
  EXPECT_THAT(findings.begun.unsure, ElementsAre(3, 4));
}

TEST(WaitReport, SaysWhatGraphsOrKernelsMayHaveBegun) {
  auto all = boards(2);
  for (auto& board : all) put_prepared(board, all_reduce(1, "grads", 2));
  BoardEntry second = all_reduce(2, "loss", 2);
  second.number = 3;
  put_prepared(all[0], second);
  put_launch(all[0], 11 * kSecond);
  EXPECT_EQ(wait_report(find(all, kNow), 10 * kSecond),
            "tutti: operations that graphs or kernels began make no progress\n"
            "  graphs or kernels began something that is not over on rank 0, without a pause for "
            "11.5 s; or the GPU has no room for what is to run it\n"
            "  nothing that graphs or kernels began is under way on rank 1\n"
            "  all_reduce \"grads\" of 1024 float32, sum, on the GPU, prepared: begun by graphs or "
            "kernels\n"
            "    prepared by ranks 0, 1\n"
            "  all_reduce \"loss\" #3 of 1024 float32, sum, on the GPU, prepared: begun by graphs "
            "or kernels\n"
            "    prepared by rank 0\n"
            "    not prepared by rank 1\n");
}

// Ranks 0 and 1 are threads of one process.
TEST(WaitReport, SaysWhereConnectionsToAGpuMayRunOut) {
  auto all = boards(4);
  put(all[0], behind(all_reduce(1, "a", 4), 0), false);
  const uint32_t num_streams[] = {10, 6, 15, 40};
  for (uint32_t r = 0; r < 4; ++r) {
    all[r]->num_streams = num_streams[r];
    all[r]->process = r < 2 ? 77 : 78 + r;
  }
  const std::string rest =
      " streams with operations under way: streams beyond the connections to the GPU "
      "(CUDA_DEVICE_MAX_CONNECTIONS) can hold each other up\n";
  EXPECT_THAT(
      wait_report(find(all, kNow), kSecond),
      AllOf(HasSubstr("\n  process 77 (ranks 0, 1) has 16" + rest),
            HasSubstr("\n  process 81 (rank 3) has 40" + rest), Not(HasSubstr("process 80"))));
  all[1]->num_streams = 5;
  EXPECT_THAT(wait_report(find(all, kNow), kSecond), Not(HasSubstr("process 77")));
}

TEST(WaitReport, LeavesOutWhatNobodyHasBegun) {
  auto all = boards(2);
  for (auto& board : all) put_prepared(board, all_reduce(1, "grads", 2));
  put(all[0], all_reduce(2, "old", 2), true);
  EXPECT_THAT(
      wait_report(find(all, kNow), kSecond),
      AllOf(HasSubstr("1 operation of the job makes no progress"),
            HasSubstr("  nothing that graphs or kernels began is under way on ranks 0, 1\n"),
            Not(HasSubstr("grads"))));
}

TEST(WaitReport, StaysShortHoweverMuchIsStuck) {
  auto all = boards(200);
  for (uint32_t i = 0; i < 100; ++i) put(all[0], all_reduce(i + 1, "", 200), i == 0);
  const std::string text = wait_report(find(all, kNow), kSecond);
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 120);
  EXPECT_THAT(text,
              AllOf(HasSubstr("100 operations of the job"), HasSubstr("and 92 operations more"),
                    HasSubstr("not called by ranks 1-199"), HasSubstr("and 191 more")));
}

TEST(WaitReport, LeavesOutWhatMovesOrIsYoung) {
  auto all = boards(2);
  BoardEntry young = all_reduce(1, "young", 2);
  young.moved_ns = kNow - kSecond;
  put(all[0], young, true);
  put(all[0], all_reduce(2, "old", 2), false);
  EXPECT_THAT(wait_report(find(all, kNow), 5 * kSecond),
              AllOf(HasSubstr("\"old\""), HasSubstr("1 operation of the job makes"),
                    Not(HasSubstr("\"young\" of"))));
}

TEST(Names, AreShownPrintableAndCutInTheMiddle) {
  EXPECT_THAT(describe(all_reduce(1, "tab\there", 2)), HasSubstr("\"tab?here\""));
  const std::string name = "encoder.layers.11.attention.self.query.projection.weight";
  EXPECT_THAT(describe(all_reduce(1, name, 2)),
              HasSubstr("\"encoder.layers.11.atte...uery.projection.weight\""));
  BoardEntry again = all_reduce(1, "x", 2);
  again.number = 3;
  EXPECT_THAT(describe(again), HasSubstr("\"x\" #3 of"));
}

TEST(Boards, AreReadAsTheyWereWritten) {
  std::vector<uint64_t> memory(transport::kBoardBytes / 8, 0);
  auto* const bytes = reinterpret_cast<std::byte*>(memory.data());
  EXPECT_FALSE(read_board(bytes).has_value());
  auto board = empty_board();
  put(board, all_reduce(5, "x", 3), true);
  write_board(bytes, *board);
  const auto read = read_board(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->num_shown, 1u);
  EXPECT_EQ(read->under_way[0].name.view(), "x");
  EXPECT_TRUE(read->under_way[0].members.has(2));
  EXPECT_FALSE(read->under_way[0].members.has(3));
}

TEST(Boards, ThatAreBeingWrittenAreNotUsed) {
  std::vector<uint64_t> memory(transport::kBoardBytes / 8, 0);
  auto* const bytes = reinterpret_cast<std::byte*>(memory.data());
  write_board(bytes, *empty_board());
  memory[0] = 3;
  EXPECT_FALSE(read_board(bytes).has_value());
}

// A rank that went mad cannot make a reader leave its memory; sanitizers watch.
TEST(Boards, OfNonsenseMakeAReportAllTheSame) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<uint64_t> memory(transport::kBoardBytes / 8);
    for (uint64_t& word : memory) word = random();
    memory[0] = 2;
    const auto board = read_board(reinterpret_cast<const std::byte*>(memory.data()));
    ASSERT_TRUE(board.has_value()) << "seed " << seed;
    auto all = boards(3);
    put(all[0], all_reduce(1, "a", 3), true);
    all[1] = board;
    EXPECT_THAT(wait_report(find(all, kNow), 0), HasSubstr("\"a\"")) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tutti::comm
