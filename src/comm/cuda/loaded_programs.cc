#include "comm/cuda/loaded_programs.h"

#include <atomic>
#include <iterator>
#include <utility>

namespace tutti::comm {
namespace {

bool is_used(const LoadedPrograms::Program& program) {
  if (program.use_count() != 1) return true;
  // Pairs with the release of the last other pointer, which its holder kept until the operation was
  // submitted.
  std::atomic_thread_fence(std::memory_order_acquire);
  return program->is_in_use();
}

}  // namespace

LoadedPrograms::Program LoadedPrograms::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = programs_.find(key);
  if (found == programs_.end()) return nullptr;
  by_use_.splice(by_use_.begin(), by_use_, found->second);
  return found->second->program;
}

LoadedPrograms::Program LoadedPrograms::add(const Key& key, engine::cuda::LoadedProgram program) {
  auto made = std::make_shared<engine::cuda::LoadedProgram>(std::move(program));
  Entries forgotten;  // goes last, without the lock
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = programs_.emplace(key, by_use_.end());
  if (!is_new) return at->second->program;
  by_use_.push_front({&at->first, made});
  at->second = by_use_.begin();
  forgotten = forget_oldest();
  return made;
}

// Down to seven eighths, so that those in use at the old end are not looked at for every program
// that is made. The program made last stays.
LoadedPrograms::Entries LoadedPrograms::forget_oldest() {
  Entries forgotten;
  uint64_t bytes = sum_bytes();
  if (bytes <= most_bytes_) return forgotten;
  const uint64_t enough = most_bytes_ - most_bytes_ / 8;
  for (auto at = std::prev(by_use_.end()); at != by_use_.begin() && bytes > enough;) {
    const auto entry = at--;
    if (is_used(entry->program)) continue;
    bytes -= entry->program->bytes();
    programs_.erase(*entry->key);
    forgotten.splice(forgotten.end(), by_use_, entry);
  }
  return forgotten;
}

void LoadedPrograms::forget(const void* owner) {
  Entries forgotten;
  const std::lock_guard lock(mutex_);
  for (auto at = by_use_.begin(); at != by_use_.end();) {
    const auto entry = at++;
    if (entry->key->owner != owner) continue;
    programs_.erase(*entry->key);
    forgotten.splice(forgotten.end(), by_use_, entry);
  }
}

uint64_t LoadedPrograms::sum_bytes() const {
  uint64_t sum = 0;
  for (const Entry& entry : by_use_) sum += entry.program->bytes();
  return sum;
}

uint64_t LoadedPrograms::bytes() {
  const std::lock_guard lock(mutex_);
  return sum_bytes();
}

size_t LoadedPrograms::num_programs() {
  const std::lock_guard lock(mutex_);
  return programs_.size();
}

}  // namespace tutti::comm
