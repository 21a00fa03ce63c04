#include "tools/chaos/settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"

namespace tutti::tools::chaos {
namespace {

// Sizes are spread evenly over their logarithm, so operations take about a tenth of the largest.
uint64_t fitting_max_bytes(uint32_t num_collectives) {
  constexpr uint64_t kLargest = uint64_t{1} << 20;
  constexpr uint64_t kSmallest = 64;
  constexpr uint64_t kBudget = uint64_t{32} << 20;  // a rank
  uint64_t bytes = kLargest;
  while (bytes > kSmallest && bytes / 10 * num_collectives > kBudget) bytes /= 2;
  return bytes;
}

Error refuse(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

// Streams that share a connection to the GPU wait for each other: docs/design/gpu.md. Threads share
// the 32 of one process, of which each rank's daemon has two and some are for single copies.
uint32_t safe_streams(const Settings& s) {
  constexpr uint32_t kMost = 4;
  constexpr uint32_t kOfProcess = 28;
  if (!s.threads) return kMost;
  const uint32_t of_daemons = 2 * s.num_ranks;
  const uint32_t left = kOfProcess > of_daemons ? kOfProcess - of_daemons : 0;
  return std::clamp(left / s.num_ranks, 1U, kMost);
}

Status check_gpu(const Settings& s) {
  constexpr uint32_t kMostRanks = 64;
  if (s.kill) return refuse("--kill is for ranks on the host; leave out --device cuda");
  if (s.num_issuers != 1) return refuse("--issuers is for ranks on the host");
  if (s.num_ranks > kMostRanks) return refuse("a GPU holds at most 64 ranks; take -n 64 or fewer");
  const bool needs_two = s.pattern == Pattern::kLatin || s.pattern == Pattern::kTorchrec;
  if (needs_two && s.num_streams == 1) {
    return refuse(
        fmt::format("--pattern {} needs two streams a rank: in one, calls wait for each "
                    "other in their order; take --streams 2",
                    to_string(s.pattern)));
  }
  if (needs_two && s.num_streams == 0 && safe_streams(s) < 2) {
    return refuse(
        fmt::format("--pattern {} needs two streams a rank, and {} threads share the "
                    "connections of one process to the GPU, which are too few for that; "
                    "leave out --threads, or take -n 7 or fewer",
                    to_string(s.pattern), s.num_ranks));
  }
  return {};
}

}  // namespace

std::string_view to_string(Pattern pattern) noexcept {
  switch (pattern) {
    case Pattern::kRandom: return "random";
    case Pattern::kLatin: return "latin";
    case Pattern::kTorchrec: return "torchrec";
    case Pattern::kGrid: return "grid";
  }
  return "";
}

std::optional<Pattern> parse_pattern(std::string_view text) noexcept {
  for (const Pattern pattern : kPatterns) {
    if (text == to_string(pattern)) return pattern;
  }
  return std::nullopt;
}

Result<Settings> completed(Settings s) {
  if (s.kill && s.threads) {
    return refuse("--kill ends a process, and with --threads all ranks are one; leave one out");
  }
  if (s.kill && s.num_ranks < 2) return refuse("--kill leaves no survivor of one rank; take -n 2");
  if (s.in_flight == 0) s.in_flight = s.num_collectives;
  s.in_flight = std::min(s.in_flight, s.num_collectives);
  if (s.max_bytes == 0) s.max_bytes = fitting_max_bytes(s.num_collectives);
  if (s.max_bytes < 8) return refuse(fmt::format("--max-bytes {}: at least 8", s.max_bytes));
  if (!s.on_gpu) return s;
  TUTTI_TRY(check_gpu(s));
  if (s.num_streams == 0) s.num_streams = safe_streams(s);
  return s;
}

std::vector<std::string> command_of(const Settings& s) {
  const Settings usual;
  std::vector<std::string> words{"chaos"};
  const auto add = [&](const char* name, auto value) {
    words.emplace_back(name);
    words.push_back(fmt::format("{}", value));
  };
  const auto add_unless = [&](auto expected, const char* name, auto value) {
    if (value != expected) add(name, value);
  };
  add("-n", s.num_ranks);
  add("--collectives", s.num_collectives);
  add("--rounds", s.rounds);
  add("--seed", s.seed);
  add_unless(s.num_collectives, "--in-flight", s.in_flight);
  add_unless(usual.num_groups, "--groups", s.num_groups);
  if (s.pattern != usual.pattern) add("--pattern", to_string(s.pattern));
  add_unless(fitting_max_bytes(s.num_collectives), "--max-bytes", s.max_bytes);
  add_unless(usual.delay_us, "--delay", s.delay_us);
  add_unless(usual.num_issuers, "--issuers", s.num_issuers);
  add_unless(usual.deadline_s, "--deadline", s.deadline_s);
  if (s.threads) words.emplace_back("--threads");
  if (s.kill) words.emplace_back("--kill");
  if (s.json) words.emplace_back("--json");
  if (!s.on_gpu) return words;
  add("--device", "cuda");
  add_unless(safe_streams(s), "--streams", s.num_streams);
  add_unless(usual.num_waits, "--waits", s.num_waits);
  return words;
}

}  // namespace tutti::tools::chaos
