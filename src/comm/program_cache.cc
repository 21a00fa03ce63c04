#include "comm/program_cache.h"

#include <atomic>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/try.h"
#include "comm/chosen_schedule.h"
#include "ir/layout.h"
#include "ir/sizes.h"

namespace tutti::comm {
namespace {

// What an entry takes beside its program: a node of the map and one of the list.
constexpr size_t kEntryBytes = 192;

size_t bytes_of(const ProgramKey& key, const engine::BoundProgram& program) {
  return kEntryBytes + key.counts.size() * sizeof(key.counts[0]) + engine::bytes_of(program);
}

bool is_in_use(const std::shared_ptr<const engine::BoundProgram>& program) {
  if (program.use_count() != 1) return true;
  // Pairs with the release of the last other pointer, which its holder kept until the engine had
  // counted the operation.
  std::atomic_thread_fence(std::memory_order_acquire);
  return program->uses.any();
}

}  // namespace

Result<std::shared_ptr<const engine::BoundProgram>> ProgramCache::find(const ProgramKey& key) {
  // Most calls are like the one before.
  if (!by_use_.empty() && *by_use_.front().key == key) return by_use_.front().program;
  if (const auto found = programs_.find(key); found != programs_.end()) {
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    return by_use_.front().program;
  }
  TUTTI_ASSIGN(auto program, make(key));
  const size_t bytes = bytes_of(key, *program);
  const auto added = programs_.emplace(key, by_use_.end()).first;
  by_use_.push_front({&added->first, std::move(program), bytes});
  added->second = by_use_.begin();
  bytes_ += bytes;
  if (bytes_ > most_bytes_) forget_oldest();
  return by_use_.front().program;
}

// Down to seven eighths, so that those in use at the old end are not looked at for every program
// that is made. The program made last stays.
void ProgramCache::forget_oldest() {
  const size_t enough = most_bytes_ - most_bytes_ / 8;
  for (auto at = std::prev(by_use_.end()); at != by_use_.begin() && bytes_ > enough;) {
    const auto entry = at--;
    if (is_in_use(entry->program)) continue;
    bytes_ -= entry->bytes;
    programs_.erase(*entry->key);
    by_use_.erase(entry);
  }
}

Result<std::shared_ptr<const engine::BoundProgram>> ProgramCache::make(
    const ProgramKey& key) const {
  Collective collective{key.kind, num_ranks_, key.root, 0};
  if (key.kind == CollectiveKind::kSendRecv) collective.peer = 1;
  const uint64_t elems = key.counts.empty()
                             ? key.row_elems
                             : std::accumulate(key.counts.begin(), key.counts.end(), uint64_t{0});
  const uint64_t bytes = elems * key.elem_bytes;
  TUTTI_ASSIGN(const auto schedule,
               chosen_schedule(tuning_, collective, bytes,
                               choose_algorithm(tuning_, collective, bytes), self_));
  TUTTI_ASSIGN(const auto layout,
               ir::Layout::create(collective, schedule.schedule().chunks_per_block));
  if (key.counts.empty()) {
    return std::make_shared<const engine::BoundProgram>(
        engine::bind(schedule, self_, ir::Sizes::even(layout, key.row_elems), key.elem_bytes));
  }
  TUTTI_ASSIGN(const auto sizes, ir::Sizes::uneven(layout, key.counts));
  return std::make_shared<const engine::BoundProgram>(
      engine::bind(schedule, self_, sizes, key.elem_bytes));
}

}  // namespace tutti::comm
