// Fills a rank's board from its engine and from what is known of operations elsewhere. Knows since
// when each operation has not moved, because it looked before. One thread at a time.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "comm/diagnosis/board.h"
#include "comm/diagnosis/elsewhere.h"
#include "engine/cpu/engine.h"

namespace tutti::comm {

class Publisher {
 public:
  // Both outlive it.
  Publisher(engine::Engine& engine, const Elsewhere& elsewhere)
      : engine_(engine), elsewhere_(elsewhere) {}

  // Looks at the engine, writes the board into the rank's segment, and returns it.
  Board publish();

 private:
  struct Movement {
    uint64_t mark = 0;  // differs when the operation has moved
    uint64_t since_ns = 0;
    bool is_current = false;
  };

  void show_operations(const engine::IdTable<engine::Operation>& operations,
                       const engine::FlightRecorder& recorder, Board& board);
  uint64_t moved_ns(const engine::Operation& op, uint64_t issued_ns, uint64_t now_ns);
  void forget_old_movements();
  // Since when the daemon's launch is the same.
  void note_launch(Board& board);

  engine::Engine& engine_;
  const Elsewhere& elsewhere_;
  std::unordered_map<uint64_t, Movement> movements_;  // of the operations on the board
  uint32_t launch_ = 0;                               // as it was seen last,
  uint64_t here_since_ns_ = 0;                        // and first
};

}  // namespace tutti::comm
