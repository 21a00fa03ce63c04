#include "tools/view/conditions.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "base/try.h"
#include "tools/view/answers.h"

namespace tutti::view {
namespace {

// "3*2.5" with the sign '*': a rank and a number.
Result<std::optional<std::pair<Rank, double>>> rank_and_number(const Question& question,
                                                               const std::string& name, char sign,
                                                               uint32_t num_ranks) {
  const std::string text = text_of(question, name);
  if (text.empty()) return std::optional<std::pair<Rank, double>>{};
  const Error bad{ErrorCode::kInvalidArgument,
                  fmt::format("{}: '{}' is not a rank below {}, {} and a number, as in 3{}2", name,
                              text, num_ranks, sign, sign)};
  const size_t at = text.find(sign);
  if (at == std::string::npos) return bad;
  uint32_t rank = 0;
  double value = 0;
  const char* begin = text.data();
  const auto first = std::from_chars(begin, begin + at, rank);
  const auto second = std::from_chars(begin + at + 1, begin + text.size(), value);
  const bool is_read = first.ec == std::errc() && first.ptr == begin + at &&
                       second.ec == std::errc() && second.ptr == begin + text.size();
  if (!is_read || rank >= num_ranks) return bad;
  return std::optional(std::pair{Rank{rank}, value});
}

}  // namespace

Result<sim::Options> conditions_of(const Question& question, uint32_t num_ranks) {
  sim::Options options;
  TUTTI_ASSIGN(options.bytes, number_of(question, "bytes", Defaults::kBytes, {0, kMostBytes}));
  TUTTI_ASSIGN(const auto slow, rank_and_number(question, "slow", '*', num_ranks));
  if (slow) options.slow_ranks.push_back({slow->first, slow->second});
  TUTTI_ASSIGN(const auto late, rank_and_number(question, "late", '+', num_ranks));
  if (late) options.start_skew.push_back({late->first, late->second});
  return options;
}

}  // namespace tutti::view
