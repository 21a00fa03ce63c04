#include "engine/cuda/mapper.h"

#include <algorithm>

#include "base/library_thread.h"

namespace tutti::engine::cuda {

Mapper::~Mapper() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Mapper::link(uint32_t neighbour, const RegionLink& link, uint32_t num_known) {
  const uint32_t index = num_links_.load(std::memory_order_relaxed);
  Linked& added = links_[index];
  added.neighbour = neighbour;
  added.link = link;
  added.num_mapped = num_known;
  added.num_seen.store(num_known, std::memory_order_relaxed);
  num_links_.store(index + 1, std::memory_order_release);
  if (!thread_.joinable()) thread_ = base::start_library_thread("tutti-map", [this] { run(); });
}

void Mapper::ask(uint32_t wanted) {
  // It is under way, or done in a moment; the leader goes on asking until it is.
  if (wanted_.exchange(wanted, std::memory_order_relaxed) == wanted) return;
  {
    const std::lock_guard lock(mutex_);
    has_news_ = true;
  }
  changed_.notify_all();
}

void Mapper::look() {
  const uint32_t num_links = num_links_.load(std::memory_order_acquire);
  bool has_news = false;
  for (uint32_t i = 0; i < num_links; ++i) {
    const RegionLink& link = links_[i].link;
    if (link.there == nullptr) continue;
    // Pairs with the release in Exports: what was exported can be read.
    const uint32_t num_exported = link.there->num_exported.load(std::memory_order_acquire);
    has_news = has_news || num_exported > links_[i].num_seen.load(std::memory_order_relaxed);
  }
  if (!has_news) return;
  {
    const std::lock_guard lock(mutex_);
    if (has_news_) return;
    has_news_ = true;
  }
  changed_.notify_all();
}

void Mapper::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    // Liveness: whoever sees news says so, and the end is announced.
    changed_.wait(lock, [this] { return has_news_ || is_over_; });
    if (is_over_) return;
    has_news_ = false;
    lock.unlock();
    // What was done is not asked for again, though the word stays; what fails is. A device that has
    // failed says so elsewhere.
    const uint32_t wanted = wanted_.load(std::memory_order_relaxed);
    if (wanted != 0 && !imports_.fetch(wanted)) wanted_.store(0, std::memory_order_relaxed);
    const uint32_t num_links = num_links_.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < num_links; ++i) map_new(links_[i]);
    lock.lock();
  }
}

// In their order, so that one number says which. What cannot be mapped counts too: operations that
// need it fail, and say why.
void Mapper::map_new(Linked& from) {
  if (from.link.there == nullptr) return;
  // What the neighbour writes is its own, and may be nonsense.
  const uint32_t num_exported =
      std::min(from.link.there->num_exported.load(std::memory_order_acquire), kMostRegions - 1);
  from.num_seen.store(num_exported, std::memory_order_relaxed);
  while (from.num_mapped < num_exported) {
    if (!imports_.fetch(wanted_word(from.neighbour, from.num_mapped + 1))) return;
    ++from.num_mapped;
    // Pairs with the acquire in Exports::is_known_to: leaders here find it in their tables.
    from.link.here->num_mapped.store(from.num_mapped, std::memory_order_release);
  }
}

}  // namespace tutti::engine::cuda
