#include "sim/waits.h"

#include <algorithm>
#include <tuple>

namespace tutti::sim {

std::vector<Wait> Waits::longest(uint32_t max_waits) const {
  std::vector<Wait> waits;
  waits.reserve(pair_ns_.size());
  for (const auto& [pair, ns] : pair_ns_) {
    waits.push_back(
        {Rank{static_cast<uint32_t>(pair >> 32)}, Rank{static_cast<uint32_t>(pair)}, ns});
  }
  const size_t count = std::min<size_t>(max_waits, waits.size());
  std::partial_sort(waits.begin(), waits.begin() + static_cast<ptrdiff_t>(count), waits.end(),
                    [](const Wait& a, const Wait& b) {
                      return std::tuple(-a.ns, a.rank, a.on) < std::tuple(-b.ns, b.rank, b.on);
                    });
  waits.resize(count);
  return waits;
}

}  // namespace tutti::sim
