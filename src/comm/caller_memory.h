// Memory that callers of a rank get from the library (tutti/memory.h): blocks of the rank's heap,
// which go back there when no operation uses them any more. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/cpu/engine.h"
#include "transport/heap_memory.h"
#include "tutti/result.h"

namespace tutti::comm {

class CallerMemory {
 public:
  // `engine` outlives it.
  explicit CallerMemory(engine::Engine& engine);

  // Zeros. kOutOfMemory.
  [[nodiscard]] Result<std::byte*> allocate(uint64_t bytes);
  // With the size that was asked for. At once, or, if an operation under way uses it, when that is
  // over and the next block is allocated or freed.
  void free(std::byte* memory, uint64_t bytes);

 private:
  struct Block {
    std::byte* memory;
    uint64_t bytes;
  };

  void log_first_use() const;
  // Gives back what was freed and is not used any more.
  void sweep();
  // Those of the blocks that operations under way use go to the end; where they begin.
  std::vector<Block>::iterator unused_first(std::vector<Block>& blocks);

  engine::Engine& engine_;
  transport::HeapMemory& heap_;
  std::mutex mutex_;  // guards what follows; never held across a look into the engine
  bool is_used_ = false;
  std::vector<Block> freed_;  // by the caller, and not given back
};

}  // namespace tutti::comm
