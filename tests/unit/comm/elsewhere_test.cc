// Operations that are not the engine's, on a rank's board.
#include "comm/diagnosis/elsewhere.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tutti::comm {
namespace {

BoardEntry on_gpu(uint64_t id) {
  BoardEntry facts;
  facts.id = id;
  facts.is_on_gpu = 1;
  facts.name.assign("call " + std::to_string(id));
  return facts;
}

void enqueue(Elsewhere& elsewhere, uint64_t id, Elsewhere::Place place) {
  elsewhere.announce(on_gpu(id));
  elsewhere.enqueued(id, place);
}

std::unique_ptr<Board> board_of(const Elsewhere& elsewhere) {
  auto board = std::make_unique<Board>();
  elsewhere.show(*board);
  return board;
}

const BoardEntry* under_way(const Board& board, uint64_t id) {
  for (uint32_t i = 0; i < board.num_shown; ++i) {
    if (board.under_way[i].id == id) return &board.under_way[i];
  }
  return nullptr;
}

TEST(Elsewhere, AnOperationIsBehindWhatItsStreamIsInAndBesideItsOwnTurn) {
  Elsewhere elsewhere;
  enqueue(elsewhere, 1, {.stream = 7, .turn = 1});
  enqueue(elsewhere, 2, {.stream = 7, .turn = 2});
  enqueue(elsewhere, 3, {.stream = 7, .turn = 2});
  enqueue(elsewhere, 4, {.stream = 8, .turn = 1});
  auto board = board_of(elsewhere);
  EXPECT_EQ(board->num_under_way, 4u);
  EXPECT_EQ(board->num_issued, 4u);
  EXPECT_EQ(board->num_streams, 2u);
  EXPECT_EQ(under_way(*board, 1)->behind, 0u);
  EXPECT_EQ(under_way(*board, 2)->behind, 1u);
  EXPECT_EQ(under_way(*board, 3)->behind, 1u);
  EXPECT_EQ(under_way(*board, 4)->behind, 0u);
  elsewhere.ended(1, engine::Outcome::kDone);
  board = board_of(elsewhere);
  EXPECT_EQ(under_way(*board, 1), nullptr);
  EXPECT_EQ(under_way(*board, 2)->behind, 0u);
  EXPECT_EQ(under_way(*board, 3)->behind, 0u);
  // Its stream came to it when the one before had ended.
  ASSERT_EQ(board->num_recent, 1u);
  EXPECT_EQ(under_way(*board, 2)->moved_ns, board->recent[0].ended_ns);
  EXPECT_EQ(board->recent[0].name.view(), "call 1");
  EXPECT_EQ(board->recent[0].outcome, engine::Outcome::kDone);
}

TEST(Elsewhere, WhatCouldNotBeEnqueuedIsForgotten) {
  Elsewhere elsewhere;
  enqueue(elsewhere, 1, {.stream = 7, .turn = 1});
  elsewhere.announce(on_gpu(2));
  elsewhere.withdraw(1);  // it is in its stream, and stays
  elsewhere.withdraw(2);
  const auto board = board_of(elsewhere);
  EXPECT_EQ(board->num_issued, 1u);
  EXPECT_NE(under_way(*board, 1), nullptr);
  EXPECT_EQ(under_way(*board, 2), nullptr);
  elsewhere.ended(1, engine::Outcome::kFailed);
  EXPECT_TRUE(elsewhere.is_idle());
}

TEST(Elsewhere, IsLaidBetweenWhatTheEngineHasShown) {
  Elsewhere elsewhere;
  enqueue(elsewhere, 1, {.stream = 7, .turn = 1});
  enqueue(elsewhere, 2, {.stream = 7, .turn = 2});
  const uint64_t issued = under_way(*board_of(elsewhere), 2)->issued_ns;
  auto board = std::make_unique<Board>();
  board->num_issued = 5;
  board->num_under_way = 300;
  board->num_shown = Board::kMaxUnderWay;
  for (uint32_t i = 0; i < board->num_shown; ++i) {
    board->under_way[i].id = 100 + i;
    board->under_way[i].issued_ns = i < 10 ? 1 : issued + 1000 + i;
  }
  elsewhere.show(*board);
  EXPECT_EQ(board->num_under_way, 302u);
  EXPECT_EQ(board->num_shown, Board::kMaxUnderWay);
  EXPECT_EQ(board->under_way[10].id, 1u);
  EXPECT_EQ(board->under_way[11].id, 2u);
  EXPECT_EQ(board->under_way[12].id, 110u);
}

TEST(Elsewhere, ABoardSaysSinceWhenItRemembersAll) {
  Elsewhere elsewhere;
  constexpr uint64_t kMore = 3;
  for (uint64_t id = 1; id <= Board::kMaxElsewhere + kMore; ++id) {
    enqueue(elsewhere, id, {.stream = 7, .turn = id});
    elsewhere.ended(id, engine::Outcome::kDone);
    if (id != Board::kMaxElsewhere) continue;
    EXPECT_EQ(board_of(elsewhere)->remembers_since_ns, 0u);
  }
  const auto board = board_of(elsewhere);
  EXPECT_GT(board->remembers_since_ns, 0u);
  ASSERT_EQ(board->num_ended_ids, Board::kMaxElsewhere);
  EXPECT_EQ(board->ended_ids[0], Board::kMaxElsewhere + kMore);
  EXPECT_EQ(board->ended_ids[board->num_ended_ids - 1], 1 + kMore);
  EXPECT_EQ(board->num_recent, Board::kMaxRecent);
  EXPECT_EQ(board->recent[0].id, Board::kMaxElsewhere + kMore);
}

TEST(Elsewhere, WhatOthersMayBeginIsShownAsItIsSeen) {
  Elsewhere elsewhere;
  Elsewhere::Seen seen{.launch = 7};
  elsewhere.prepared(on_gpu(1), [&] { return seen; });
  elsewhere.prepared(on_gpu(2), [&] { return Elsewhere::Seen{.launch = seen.launch}; });
  EXPECT_FALSE(elsewhere.is_idle());
  seen.has_failed = true;
  auto board = board_of(elsewhere);
  EXPECT_EQ(board->num_under_way, 0u);
  EXPECT_EQ(board->num_issued, 0u);
  EXPECT_EQ(board->launch, 7u);
  ASSERT_EQ(board->num_prepared, 2u);
  ASSERT_EQ(board->num_prepared_shown, 2u);
  EXPECT_EQ(board->prepared[0].name.view(), "call 1");
  EXPECT_EQ(board->prepared[0].is_prepared, 1);
  EXPECT_GT(board->prepared[0].issued_ns, 0u);
  EXPECT_EQ(board->prepared[0].outcome, engine::Outcome::kFailed);
  EXPECT_EQ(board->prepared[1].outcome, engine::Outcome::kUnderWay);
  elsewhere.unprepared(1);
  seen.launch = 0;
  board = board_of(elsewhere);
  EXPECT_EQ(board->launch, 0u);
  ASSERT_EQ(board->num_prepared, 1u);
  EXPECT_EQ(board->prepared[0].id, 2u);
  elsewhere.unprepared(2);
  EXPECT_TRUE(elsewhere.is_idle());
}

TEST(Elsewhere, OfAllThatOthersMayBeginTheOldestAreShown) {
  Elsewhere elsewhere;
  for (uint64_t id = 1; id <= Board::kMaxPrepared + 5; ++id) {
    elsewhere.prepared(on_gpu(id), [] { return Elsewhere::Seen{}; });
  }
  const auto board = board_of(elsewhere);
  EXPECT_EQ(board->num_prepared, Board::kMaxPrepared + 5);
  ASSERT_EQ(board->num_prepared_shown, Board::kMaxPrepared);
  EXPECT_EQ(board->prepared.front().id, 1u);
  EXPECT_EQ(board->prepared.back().id, Board::kMaxPrepared);
}

}  // namespace
}  // namespace tutti::comm
