// What `tutti chaos` is asked to do. The same settings, seed included, give the same operations and
// the same orders on every rank and in every run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/result.h"

namespace tutti::tools::chaos {

enum class Pattern : uint8_t {
  kRandom,    // any collective on any group, every rank in its own random order
  kLatin,     // the same operations; rank r begins r places later: no two ranks ever agree
  kTorchrec,  // two communicators: some ranks do all_to_all before all_reduce, others after it
  kGrid,      // tensor x data x pipeline: every rank in three groups that overlap
};
inline constexpr Pattern kPatterns[] = {Pattern::kRandom, Pattern::kLatin, Pattern::kTorchrec,
                                        Pattern::kGrid};

[[nodiscard]] std::string_view to_string(Pattern pattern) noexcept;
[[nodiscard]] std::optional<Pattern> parse_pattern(std::string_view text) noexcept;

struct Settings {
  uint32_t num_ranks = 4;
  uint32_t num_collectives = 64;  // a round
  uint32_t rounds = 50;           // in any order, and as many in one order
  uint64_t seed = 0;
  uint32_t in_flight = 0;   // at most so many at once; 0: all of a round
  uint32_t num_groups = 4;  // of the patterns random and latin; the first has all ranks
  Pattern pattern = Pattern::kRandom;
  uint64_t max_bytes = 0;    // of one operation; 0: what memory allows, at most 1 MiB
  uint32_t delay_us = 100;   // the longest pause before a call; about one call in 16 has one
  uint32_t num_issuers = 1;  // threads of a rank that issue and wait
  uint32_t deadline_s = 60;  // of each operation: nothing hangs
  bool threads = false;      // ranks are threads
  bool kill = false;         // one rank is killed, at random
  bool json = false;
  bool on_gpu = false;       // ranks call device communicators; what follows is about them
  uint32_t num_streams = 0;  // of a rank; 0: as many as are safe
  uint32_t num_waits = 4;    // for the whole device, a round and rank, on average
};

// Fills in what was left open, and refuses what cannot be.
[[nodiscard]] Result<Settings> completed(Settings settings);

// The command line, from `chaos` on, that does the same again; what is usual is left out.
[[nodiscard]] std::vector<std::string> command_of(const Settings& settings);

}  // namespace tutti::tools::chaos
