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
  return number;
}

Result<const uint64_t*> Imports::add(uint32_t neighbour, const Source& source) {
  TUTTI_ASSIGN(std::byte* const table, device_.allocate(kMostRegions * sizeof(uint64_t)));
  Neighbour added{source, table, std::vector<bool>(kMostRegions)};
  if (source.region != 0) {
    const auto base = reinterpret_cast<uint64_t>(source.base);
    TUTTI_TRY(device_.write(table + source.region * sizeof(uint64_t), &base, sizeof base));
    added.is_known[source.region] = true;
  }
  neighbours_[neighbour] = std::move(added);
  return reinterpret_cast<const uint64_t*>(table);
}

Status Imports::fetch(uint32_t wanted) {
  const auto found = neighbours_.find(wanted >> 16);
  const uint32_t number = wanted & 0xffff;
  if (found == neighbours_.end() || number == 0 || number >= kMostRegions) return {};
  Neighbour& neighbour = found->second;
  if (neighbour.is_known[number]) return {};
  SharedRegion region{};
  const auto* const there =
      reinterpret_cast<const std::byte*>(&neighbour.source.front->regions[number]);
  TUTTI_TRY(device_.read(&region, there, sizeof region));
  uint64_t base = region.base;
  if (!neighbour.source.is_near) {
    Result<std::byte*> mapped = device_.map(region);
    base = mapped ? reinterpret_cast<uint64_t>(*mapped) : kUnreachableRegion;
    if (!mapped) unmapped_ = std::move(mapped.error());
  }
  TUTTI_TRY(device_.write(neighbour.table + number * sizeof(uint64_t), &base, sizeof base));
  neighbour.is_known[number] = true;
  return {};
}

}  // namespace tutti::engine::cuda
