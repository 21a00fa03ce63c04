#include "tutti/collective.h"

#include <array>
#include <cstddef>

namespace tutti {
namespace {

constexpr std::array<std::string_view, kNumCollectiveKinds> kNames = {
    "all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter",
    "all_to_all", "gather", "scatter",   "barrier",    "send_recv"};

}  // namespace

std::string_view to_string(CollectiveKind kind) noexcept {
  return kNames[static_cast<size_t>(kind)];
}

std::optional<CollectiveKind> parse_collective_kind(std::string_view text) noexcept {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<CollectiveKind>(i);
  }
  return std::nullopt;
}

}  // namespace tutti
