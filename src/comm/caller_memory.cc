#include "comm/caller_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/log.h"

namespace tutti::comm {
namespace {

using engine::OperationState;

// "always [madvise] never": the one in brackets.
std::string chosen_in(const std::string& path) {
  const auto text = base::read_file(path);
  if (!text) return "unknown";
  const size_t begin = text->find('[');
  const size_t end = text->find(']');
  if (begin == std::string::npos || end == std::string::npos) return "unknown";
  return text->substr(begin + 1, end - begin - 1);
}

}  // namespace

CallerMemory::CallerMemory(engine::Engine& engine)
    : engine_(engine), heap_(engine.endpoint().heap()) {}

Result<std::byte*> CallerMemory::allocate(uint64_t bytes) {
  sweep();
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_used_, true)) log_first_use();
  }
  return heap_.allocate(bytes);
}

void CallerMemory::free(std::byte* memory, uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    freed_.push_back({memory, bytes});
  }
  sweep();
}

// What is looked at was freed before the look: an operation that uses it was issued before, too.
void CallerMemory::sweep() {
  std::vector<Block> blocks;
  {
    const std::lock_guard lock(mutex_);
    blocks.swap(freed_);
  }
  if (blocks.empty()) return;
  const auto used = unused_first(blocks);
  for (auto block = blocks.begin(); block != used; ++block) heap_.free(block->memory, block->bytes);
  const std::lock_guard lock(mutex_);
  freed_.insert(freed_.end(), used, blocks.end());
}

std::vector<CallerMemory::Block>::iterator CallerMemory::unused_first(std::vector<Block>& blocks) {
  std::vector<Block> under_way;
  const auto add = [&](const void* memory, uint64_t bytes) {
    auto* const first = const_cast<std::byte*>(static_cast<const std::byte*>(memory));
    if (first != nullptr) under_way.push_back({first, bytes});
  };
  engine_.inspect([&](const engine::IdTable<engine::Operation>& operations, const auto&) {
    operations.for_each([&](const engine::Operation& op) {
      // Of one that is done, peers read mirrors at most.
      if (op.state.load(std::memory_order_relaxed) != OperationState::kRunning) return;
      add(op.request.input, op.request.program->input_bytes);
      add(op.request.output, op.request.program->output_bytes);
    });
  });
  return std::partition(blocks.begin(), blocks.end(), [&](const Block& block) {
    return std::none_of(under_way.begin(), under_way.end(), [&](const Block& used) {
      return used.memory < block.memory + block.bytes && block.memory < used.memory + used.bytes;
    });
  });
}

void CallerMemory::log_first_use() const {
  if (!base::logs(base::LogLevel::kInfo)) return;
  const transport::Endpoint& endpoint = engine_.endpoint();
  const bool ordinary = endpoint.is_one_process();
  const std::string pages = chosen_in(std::string("/sys/kernel/mm/transparent_hugepage/") +
                                      (ordinary ? "enabled" : "shmem_enabled"));
  base::log(base::LogLevel::kInfo, endpoint.self().value,
            fmt::format("{} memory for buffers; huge pages of this kind: {}",
                        ordinary ? "ordinary" : "shared", pages));
}

}  // namespace tutti::comm
