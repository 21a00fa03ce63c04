#include "engine/cuda/reach.h"

#include <fmt/format.h>

#include <utility>

#include "base/try.h"
#include "engine/cuda/wire.h"

namespace tutti::engine::cuda {

Result<uint64_t> Exports::address_of(const void* at) {
  if (at == nullptr) return uint64_t{0};
  TUTTI_ASSIGN(const Allocation allocation, device_.allocation_of(at));
  return address_of(at, allocation);
}

Result<uint64_t> Exports::address_of(const void* at, const Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  const auto found = regions_.find(allocation.id);
  uint32_t region = found != regions_.end() ? found->second : 0;
  if (found == regions_.end()) {
    Result<uint32_t> added = add(allocation);
    const bool is_final = added.ok() || added.error().code == ErrorCode::kUnsupported;
    if (is_final) regions_.emplace(allocation.id, added ? *added : 0);
    if (!added) return std::move(added.error());
    region = *added;
  }
  if (region == 0) {
    return Error{ErrorCode::kUnsupported, "this memory cannot be reached by other processes"};
  }
  const auto offset = static_cast<uint64_t>(static_cast<const std::byte*>(at) - allocation.base);
  return uint64_t{region} << kRegionShift | offset;
}

Result<uint32_t> Exports::add(const Allocation& allocation) {
  if (num_regions_ + 1 >= kMostRegions) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("a rank lets others reach {} allocations", kMostRegions - 1)};
  }
  TUTTI_ASSIGN(const SharedRegion region, device_.share(allocation));
  const uint32_t number = ++num_regions_;
  auto* const there = reinterpret_cast<std::byte*>(&front_.regions[number]);
  // Before anybody hears of the number.
  TUTTI_TRY(device_.write(there, &region, sizeof region));
  auto* const base = reinterpret_cast<std::byte*>(&front_.bases[number]);
  TUTTI_TRY(device_.write(base, &region.base, sizeof region.base));
  for (const Linked& linked : links_) {
    if (linked.link.here == nullptr) continue;
    // Pairs with the acquires in Mapper.
    linked.link.here->num_exported.store(number, std::memory_order_release);
  }
  return number;
}

uint32_t Exports::num_regions() const {
  const std::lock_guard lock(mutex_);
  return num_regions_;
}

void Exports::link(uint32_t neighbour, const RegionLink& link, uint32_t num_known) {
  const std::lock_guard lock(mutex_);
  links_[neighbour] = {link, num_known};
  if (link.here != nullptr) link.here->num_exported.store(num_regions_, std::memory_order_release);
}

bool Exports::is_known_to(uint32_t neighbour, uint32_t region) const {
  const Linked& linked = links_[neighbour];
  if (linked.link.there == nullptr || region <= linked.num_known) return true;
  // Pairs with the release in Mapper::map_new.
  return linked.link.there->num_mapped.load(std::memory_order_acquire) >= region;
}

Result<const uint64_t*> Imports::add(uint32_t neighbour, const Source& source) {
  TUTTI_ASSIGN(std::byte* const table, device_.allocate(kMostRegions * sizeof(uint64_t)));
  Neighbour added{source, table, std::vector<bool>(kMostRegions)};
  for (uint32_t number = 1; number <= source.bases.size(); ++number) {
    const auto base = reinterpret_cast<uint64_t>(source.bases[number - 1]);
    TUTTI_TRY(device_.write(table + number * sizeof(uint64_t), &base, sizeof base));
    added.is_known[number] = true;
  }
  const std::lock_guard lock(mutex_);
  neighbours_[neighbour] = std::move(added);
  return reinterpret_cast<const uint64_t*>(table);
}

// Neighbours stay where they are, and no other thread maps.
Imports::Neighbour* Imports::find(uint32_t neighbour) {
  const std::lock_guard lock(mutex_);
  const auto found = neighbours_.find(neighbour);
  return found != neighbours_.end() ? &found->second : nullptr;
}

Status Imports::fetch(uint32_t wanted) {
  Neighbour* const neighbour = find(wanted >> 16);
  const uint32_t number = wanted & 0xffff;
  if (neighbour == nullptr || number == 0 || number >= kMostRegions) return {};
  if (neighbour->is_known[number]) return {};
  SharedRegion region{};
  const auto* const there =
      reinterpret_cast<const std::byte*>(&neighbour->source.front->regions[number]);
  TUTTI_TRY(device_.read(&region, there, sizeof region));
  Result<std::byte*> mapped = device_.map(region);
  const uint64_t base = mapped ? reinterpret_cast<uint64_t>(*mapped) : kUnreachableRegion;
  if (!mapped) {
    const std::lock_guard lock(mutex_);
    unmapped_ = std::move(mapped.error());
  }
  TUTTI_TRY(device_.write(neighbour->table + number * sizeof(uint64_t), &base, sizeof base));
  neighbour->is_known[number] = true;
  return {};
}

Status Imports::unmapped() const {
  const std::lock_guard lock(mutex_);
  return unmapped_;
}

}  // namespace tutti::engine::cuda
