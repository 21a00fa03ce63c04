// Keeps a rank's board up to date, and says on standard error when an operation of the rank makes
// no progress: at TUTTI_REPORT_AFTER, and again after twice as long, and so on. Every rank with
// such an operation says the same, since all read the same boards. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "comm/diagnosis/publisher.h"
#include "engine/cpu/engine.h"

namespace tutti::comm {

class Reporter {
 public:
  // `write` takes whole reports. `report_after_ns` 0: only the board.
  Reporter(engine::Engine& engine, const Elsewhere& elsewhere, uint64_t report_after_ns,
           std::function<void(std::string_view)> write);

  // To be called this often while the rank has operations, and once when it has none any more.
  [[nodiscard]] uint64_t period_ns() const;
  void tick();

 private:
  struct Schedule {
    uint64_t due_ns = 0;
    uint64_t wait_ns = 0;
    bool is_current = false;
  };

  bool is_report_due(const Board& board);
  bool is_due_for(uint64_t id, uint64_t moved_ns, uint64_t now);

  engine::Engine& engine_;
  Publisher publisher_;
  uint64_t report_after_ns_;
  std::function<void(std::string_view)> write_;
  std::unordered_map<uint64_t, Schedule> schedules_;  // of operations that stand still
};

}  // namespace tutti::comm
