#include "comm/caller_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/file.h"
#include "base/log.h"
#include "base/try.h"
#include "transport/heap_memory.h"

namespace tutti::comm {
namespace {

using engine::OperationState;

size_t grain_of(uint64_t bytes) {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes >= transport::kHugePageBytes ? transport::kHugePageBytes : page;
}

// Whole pages, so that they can be given back.
size_t block_bytes(uint64_t bytes) {
  const size_t grain = grain_of(bytes);
  return (bytes + grain - 1) / grain * grain;
}

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
    : engine_(engine), heap_(engine.endpoint().heap()), ranges_(heap_.bytes()) {}

Result<std::byte*> CallerMemory::allocate(uint64_t bytes) {
  sweep();
  TUTTI_ASSIGN(std::byte* const base, heap_.map());
  const std::lock_guard lock(mutex_);
  if (!is_used_) log_first_use();
  is_used_ = true;
  const bool can_be = bytes <= heap_.bytes();
  const auto offset = can_be ? ranges_.take(block_bytes(bytes), grain_of(bytes)) : std::nullopt;
  if (!offset) {
    return Error{ErrorCode::kOutOfMemory,
                 fmt::format("rank {} has no {} bytes left for a shared buffer, of {} in all",
                             engine_.endpoint().self().value, bytes, heap_.bytes())};
  }
  return base + *offset;
}

void CallerMemory::free(std::byte* memory, uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    freed_.push_back({memory, block_bytes(bytes)});
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
  for (auto block = blocks.begin(); block != used; ++block) {
    heap_.give_back(block->memory, block->bytes);
  }
  const std::lock_guard lock(mutex_);
  for (auto block = blocks.begin(); block != used; ++block) {
    ranges_.give(heap_.offset_of(block->memory), block->bytes);
  }
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
