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
    make_printable();  // a letter of several bytes may have been cut
  }
  // Whatever stands there is text from now on: UTF-8 without control characters, and a question
  // mark for each byte that is not.
  void make_printable() {
    size = static_cast<uint8_t>(std::min<size_t>(size, kMost));
    for (size_t at = 0; at < size;) {
      const size_t length = letter_at(at);
      if (length == 0) text[at] = '?';
      at += std::max<size_t>(length, 1);
    }
  }
  [[nodiscard]] std::string_view view() const {
    return {text.data(), std::min<size_t>(size, kMost)};
  }

 private:
  // How many bytes the letter there has; 0: it is none, or a control character.
  [[nodiscard]] size_t letter_at(size_t at) const {
    const auto first = static_cast<uint8_t>(text[at]);
    if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
    const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || at + length > size) return 0;
    for (size_t i = 1; i < length; ++i) {
      if ((static_cast<uint8_t>(text[at + i]) & 0xc0) != 0x80) return 0;
    }
    const auto second = static_cast<uint8_t>(text[at + 1]);
    const bool is_out_of_range =
        (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
    const bool is_control = first == 0xc2 && second < 0xa0;
    return is_out_of_range || is_control ? 0 : length;
  }
};
static_assert(sizeof(ShortName) == 48);

}  // namespace tutti::engine
