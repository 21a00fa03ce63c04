#include "tools/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "tools/exit_code.h"

namespace tutti::tools {
namespace {

const char* code_of(Colour colour) {
  switch (colour) {
    case Colour::kPlain: return "";
    case Colour::kGood: return "\033[32m";
    case Colour::kBad: return "\033[31m";
    case Colour::kDim: return "\033[2m";
    case Colour::kBold: return "\033[1m";
  }
  return "";
}

// Display width, for the few characters outside ASCII that we print.
size_t width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

bool shows_colours(std::FILE* stream) {
  return isatty(fileno(stream)) != 0 && std::getenv("NO_COLOR") == nullptr;
}

std::string paint(std::FILE* stream, Colour colour, std::string_view text) {
  if (colour == Colour::kPlain || !shows_colours(stream)) return std::string(text);
  return fmt::format("{}{}\033[0m", code_of(colour), text);
}

void print_error(std::string_view message) {
  fmt::print(stderr, "{} {}\n", paint(stderr, Colour::kBad, "tutti:"), message);
}

int fail(const Error& error) {
  print_error(error.message);
  return error.code == ErrorCode::kRefused ? kNo : kBadUse;
}

std::string format_bytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

std::string format_ns(double ns) {
  if (ns < 1e3) return fmt::format("{:.4g} ns", ns);
  if (ns < 1e6) return fmt::format("{:.4g} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.4g} ms", ns / 1e6);
  return fmt::format("{:.4g} s", ns / 1e9);
}

std::string format_gbps(double gbps) { return fmt::format("{:.4g} GB/s", gbps); }

Result<uint64_t> parse_bytes(std::string_view text) {
  const Error bad{ErrorCode::kInvalidArgument,
                  fmt::format("'{}' is not a size; write 8, 64K, 1M or 1.5G", text)};
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= 0)) return bad;
  std::string unit(rest, text.data() + text.size());
  std::transform(unit.begin(), unit.end(), unit.begin(), [](char c) {
    return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  constexpr const char* kPrefixes[] = {"", "K", "M", "G", "T"};
  for (size_t power = 0; power < std::size(kPrefixes); ++power) {
    const std::string prefix = kPrefixes[power];
    if (unit != prefix && unit != prefix + "B" && (power == 0 || unit != prefix + "IB")) continue;
    const double bytes = std::ldexp(number, static_cast<int>(10 * power));
    if (bytes > std::ldexp(1.0, 62)) return bad;
    return static_cast<uint64_t>(std::llround(bytes));
  }
  return bad;
}

std::vector<std::string> Table::lines() const {
  std::vector<std::string> lines;
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  }
  for (size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (size_t c = 0; c < rows_[r].size(); ++c) {
      const std::string& cell = rows_[r][c];
      const std::string padding(widths[c] - width(cell), ' ');
      const bool last = c + 1 == rows_[r].size();
      // The first column is text, the others are numbers.
      if (c > 0) line.append("  ").append(padding);
      line += cell;
      if (c == 0 && !last) line += padding;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

void Table::print(std::FILE* stream) const {
  const std::vector<std::string> all = lines();
  for (size_t r = 0; r < all.size(); ++r) {
    fmt::print(stream, "{}\n", r == 0 ? paint(stream, Colour::kBold, all[r]) : all[r]);
  }
}

std::string Table::text() const {
  std::string text;
  for (const std::string& line : lines()) text += line + '\n';
  return text;
}

}  // namespace tutti::tools
