#include "comm/diagnosis/board.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

namespace tutti::comm {
namespace {

constexpr size_t kWords = sizeof(Board) / sizeof(uint64_t);
using Words = std::array<uint64_t, kWords>;

// The version is odd while the words after it are written. They are atomic so that reading a
// half-written board is defined; the version then says that it must not be used.
std::atomic<uint64_t>* words_of(std::byte* memory) {
  static_assert(sizeof(std::atomic<uint64_t>) == sizeof(uint64_t));
  return reinterpret_cast<std::atomic<uint64_t>*>(memory);
}
const std::atomic<uint64_t>* words_of(const std::byte* memory) {
  return reinterpret_cast<const std::atomic<uint64_t>*>(memory);
}

}  // namespace

void write_board(std::byte* memory, const Board& board) {
  std::atomic<uint64_t>* const version = words_of(memory);
  const auto words = std::make_unique<Words>();
  std::memcpy(words->data(), &board, sizeof board);
  const uint64_t before = version->load(std::memory_order_relaxed);
  version->store(before + 1, std::memory_order_relaxed);
  // Pairs with the acquiring loads in read_board: who sees one of these sees the odd version when
  // it looks again.
  for (size_t i = 0; i < kWords; ++i) version[1 + i].store((*words)[i], std::memory_order_release);
  // Pairs with the first load of the version in read_board.
  version->store(before + 2, std::memory_order_release);
}

std::optional<Board> read_board(const std::byte* memory) {
  constexpr int kTries = 100;
  const std::atomic<uint64_t>* const version = words_of(memory);
  const auto words = std::make_unique<Words>();
  for (int i = 0; i < kTries; ++i) {
    const uint64_t before = version->load(std::memory_order_acquire);
    if (before == 0) return std::nullopt;
    if (before % 2 != 0) continue;
    for (size_t w = 0; w < kWords; ++w)
      (*words)[w] = version[1 + w].load(std::memory_order_acquire);
    if (version->load(std::memory_order_relaxed) != before) continue;
    Board board;
    std::memcpy(static_cast<void*>(&board), words->data(), sizeof board);
    clean(board);
    return board;
  }
  return std::nullopt;
}

void clean(Board& board) {
  board.num_shown = std::min(board.num_shown, Board::kMaxUnderWay);
  board.num_under_way = std::max(board.num_under_way, board.num_shown);
  board.num_recent = std::min(board.num_recent, Board::kMaxRecent);
  board.num_prepared_shown = std::min(board.num_prepared_shown, Board::kMaxPrepared);
  board.num_prepared = std::max(board.num_prepared, board.num_prepared_shown);
  board.num_ended_ids =
      std::min(board.num_ended_ids, static_cast<uint32_t>(board.ended_ids.size()));
  const auto clean_entry = [](BoardEntry& entry) {
    entry.outcome = std::min(entry.outcome, engine::Outcome::kFailed);
    entry.name.make_printable();
  };
  std::for_each(board.under_way.begin(), board.under_way.end(), clean_entry);
  std::for_each(board.recent.begin(), board.recent.end(), clean_entry);
  std::for_each(board.prepared.begin(), board.prepared.end(), clean_entry);
}

}  // namespace tutti::comm
