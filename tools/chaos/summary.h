// What all ranks found, put together on each of them and told by one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "tools/chaos/rank_run.h"
#include "tools/chaos/settings.h"
#include "tutti/communicator.h"
#include "tutti/result.h"

namespace tutti::tools::chaos {

struct OrderSummary {
  std::array<double, 3> round_us{};  // p50, p99, p99.9 of the slowest rank's time
  double rounds_per_s = 0;           // one after the other: the harmonic mean
  double switches = 0;               // a collective and rank
  double looks = 0;                  // in vain, a collective and rank
};

struct Summary {
  OrderSummary any;
  OrderSummary one;
  uint64_t num_operations = 0;  // of all ranks, in rounds of both kinds
  uint64_t num_wrong = 0;       // elements
  std::optional<uint64_t> most_switches;
  // Of all ranks, for their whole device: by DeviceWait.
  std::array<uint64_t, std::size(kDeviceWaits)> waits{};
};

// Called by all ranks together.
[[nodiscard]] Result<Summary> summarise(Communicator& world, const Settings& settings,
                                        const RankTally& tally);

void print(const Summary& summary, const Settings& settings, const Workload& workload);

}  // namespace tutti::tools::chaos
