// What a person sees: colours when standard output or error is a terminal (and NO_COLOR is unset),
// numbers with units, and tables with aligned columns.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/result.h"

namespace tutti::tools {

enum class Colour { kPlain, kGood, kBad, kDim, kBold };

// Whether it is a terminal, and nobody asked for plain text.
[[nodiscard]] bool shows_colours(std::FILE* stream);
// The text wrapped in the colour, if `stream` shows colours.
[[nodiscard]] std::string paint(std::FILE* stream, Colour colour, std::string_view text);

// "tutti: message" on standard error.
void print_error(std::string_view message);
// The error, and the exit code it deserves.
[[nodiscard]] int fail(const Error& error);

// "64 MiB", "12 B"; "1.25 ms", "830 ns"; "12.3 GB/s".
[[nodiscard]] std::string format_bytes(uint64_t bytes);
[[nodiscard]] std::string format_ns(double ns);
[[nodiscard]] std::string format_gbps(double gbps);

// "8", "64K", "1M", "1.5GiB" (powers of 1024, as nccl-tests reads them).
[[nodiscard]] Result<uint64_t> parse_bytes(std::string_view text);

// Columns as wide as their widest cell; the first left-aligned, the others right-aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print(std::FILE* stream) const;
  // Without colours.
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] std::vector<std::string> lines() const;

  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tutti::tools
