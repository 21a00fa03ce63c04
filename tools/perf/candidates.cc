#include "tools/perf/candidates.h"

#include <algorithm>
#include <utility>

#include "ir/schedule.h"
#include "plan/algorithm.h"

namespace tutti::tools::perf {
namespace {

// Smaller pieces cost more to hand over than they save.
constexpr uint64_t kLeastPieceBytes = uint64_t{8} * 1024;

std::vector<uint32_t> piece_counts(const Collective& collective, uint64_t bytes) {
  std::vector<uint32_t> counts{0, 1};
  for (const uint32_t chunks : {4u, 16u, 64u}) {
    if (bytes / collective.num_ranks / chunks >= kLeastPieceBytes) counts.push_back(chunks);
  }
  return counts;
}

std::vector<plan::Options> options_for(const plan::Algorithm& algorithm,
                                       const Collective& collective, uint64_t bytes) {
  std::vector<plan::Options> all;
  if (algorithm.takes_chunks) {
    for (const uint32_t chunks : piece_counts(collective, bytes)) all.push_back({.chunks = chunks});
  } else if (algorithm.takes_radix) {
    for (const uint32_t radix : {2u, 4u, 8u}) all.push_back({.radix = radix});
  } else if (algorithm.takes_group_size) {
    // Groups of one and one group of all are other algorithms in disguise.
    for (uint32_t g = 2; g <= collective.num_ranks / 2; g *= 2) all.push_back({.group_size = g});
  } else {
    all.emplace_back();
  }
  return all;
}

}  // namespace

std::vector<comm::Choice> candidates(const Collective& collective, uint64_t bytes) {
  std::vector<ir::Schedule> seen;
  const auto is_new = [&](const comm::Choice& choice) {
    auto schedule = plan::make(collective, choice.algorithm, choice.options);
    // An algorithm with too many steps for so many ranks is no candidate.
    if (!schedule || std::find(seen.begin(), seen.end(), *schedule) != seen.end()) return false;
    seen.push_back(*std::move(schedule));
    return true;
  };
  static_cast<void>(is_new(comm::choose_algorithm(collective, bytes)));
  std::vector<comm::Choice> found;
  for (const plan::Algorithm& algorithm : plan::algorithms()) {
    if (algorithm.kind != collective.kind) continue;
    for (const plan::Options& options : options_for(algorithm, collective, bytes)) {
      const comm::Choice choice{algorithm.name, options};
      if (is_new(choice)) found.push_back(choice);
    }
  }
  return found;
}

}  // namespace tutti::tools::perf
