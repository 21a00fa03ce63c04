// Who dies when: a function of the settings alone, known to the launcher and to every rank.
#pragma once

#include <cstdint>

#include "tools/chaos/random.h"
#include "tools/chaos/settings.h"

namespace tutti::tools::chaos {

struct Death {
  uint32_t victim = 0;
  uint64_t round = 0;     // of those in any order
  uint32_t position = 0;  // before the task that it would issue there, or the next one it has
};

[[nodiscard]] inline Death death_of(const Settings& settings) {
  constexpr uint64_t kUse = 201;
  Random random(settings.seed, kUse);
  Death death;
  death.victim = static_cast<uint32_t>(random.below(settings.num_ranks));
  death.round = random.below(settings.rounds);
  death.position = static_cast<uint32_t>(random.below(settings.num_collectives));
  return death;
}

}  // namespace tutti::tools::chaos
