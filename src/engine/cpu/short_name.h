// The name of an operation, short enough to be kept with it: of a long one the beginning and the
// end. For people to read; operations are told apart by their numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tutti::engine {

struct ShortName {
  static constexpr size_t kMost = 47;

  uint8_t size = 0;
  std::array<char, kMost> text{};

  void assign(std::string_view name) {
    size = static_cast<uint8_t>(std::min(name.size(), kMost));
    if (size == 0) return;
    if (name.size() <= kMost) {
      std::memcpy(text.data(), name.data(), size);
      return;
    }
    constexpr size_t kPart = (kMost - 3) / 2;
    std::memcpy(text.data(), name.data(), kPart);
    std::memcpy(text.data() + kPart, "...", 3);
    std::memcpy(text.data() + kPart + 3, name.data() + name.size() - kPart, kPart);
    size = 2 * kPart + 3;
  }
  [[nodiscard]] std::string_view view() const {
    return {text.data(), std::min<size_t>(size, kMost)};
  }
};
static_assert(sizeof(ShortName) == 48);

}  // namespace tutti::engine
