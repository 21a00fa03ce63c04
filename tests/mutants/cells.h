// The explorer's memory: one cell a chunk position, holding a number in place of the chunk's data.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/layout.h"
#include "ir/schedule.h"

namespace tutti::mutants {

struct Cell {
  uint64_t number = 0;
  uint32_t size = 0;  // of the data; every chunk has another, so that misfits show

  friend bool operator==(const Cell&, const Cell&) = default;
};

// The number that a rank contributes to a chunk: sums of different sets of them differ.
[[nodiscard]] uint64_t contribution(uint32_t rank, uint32_t chunk);

class CellMap {
 public:
  CellMap(const ir::Schedule& schedule, const ir::Layout& layout, bool in_place);

  [[nodiscard]] uint32_t cell(uint32_t rank, ir::Buffer buffer, uint32_t index) const {
    return cell_of_[rank][static_cast<size_t>(buffer)][index];
  }
  // Inputs hold contributions, the rest holds garbage.
  [[nodiscard]] const std::vector<Cell>& initial() const { return initial_; }
  // How much data a cell has room for; UINT32_MAX: any.
  [[nodiscard]] uint32_t room(uint32_t cell) const { return room_[cell]; }

 private:
  uint32_t add_cell(Cell content, uint32_t room);

  std::vector<std::vector<std::vector<uint32_t>>> cell_of_;  // by rank, buffer, index
  std::vector<Cell> initial_;
  std::vector<uint32_t> room_;
};

// What every output cell must hold at the end.
[[nodiscard]] uint64_t expected(const ir::Layout& layout, uint32_t chunk);

}  // namespace tutti::mutants
