// The catalogue of algorithms: one entry a file of plan/algorithms/. The command line, the page
// and the documents list what is here and nothing else.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string_view>

#include "ir/schedule.h"
#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::plan {

// What an algorithm may be told. Zero means: the algorithm's own choice, stated in its entry.
struct Options {
  uint32_t chunks = 0;      // pieces of the message that flow one behind the other
  uint32_t radix = 0;       // bruck: digits of the rank number
  uint32_t group_size = 0;  // two_level: ranks in a node; consecutive ranks share one

  friend auto operator<=>(const Options&, const Options&) = default;
};

struct Algorithm {
  CollectiveKind kind;
  std::string_view name;  // as on the command line: "ring"
  std::string_view idea;  // one sentence for lists and help
  std::string_view cost;  // in p, n (bytes), alpha, beta, gamma: "2(p-1) a + 2 n (p-1)/p b + ..."
  bool takes_chunks;
  bool takes_radix;
  bool takes_group_size;
  // The collective is valid and of this kind. kInvalidArgument for options that cannot be.
  Result<ir::Schedule> (*make)(const Collective& collective, const Options& options);
};

// All algorithms, grouped by collective in the order of CollectiveKind.
[[nodiscard]] std::span<const Algorithm> algorithms();

// kNotFound listing the names that exist for this collective.
[[nodiscard]] Result<const Algorithm*> find_algorithm(CollectiveKind kind, std::string_view name);

// Checks collective and options, then makes the schedule. An option that the algorithm does not
// take is an error, not ignored.
[[nodiscard]] Result<ir::Schedule> make(const Collective& collective, std::string_view algorithm,
                                        const Options& options);

}  // namespace tutti::plan
