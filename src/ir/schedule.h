// A collective as data: per rank, lanes of steps. Planned, read from a file or synthesised, it is
// only a claim until verify::check has proved it; nothing here promises that it is right.
//
// A lane runs its steps in order; lanes of a rank run independently but for dependencies. Messages
// travel on connections (sender, receiver, channel): the n-th message sent on a connection is the
// n-th received there. At each end a connection belongs to one lane, and its channel is the lane's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "ir/step.h"
#include "tutti/collective.h"

namespace tutti::ir {

// Whether a call may pass the same memory as input and output (ir/layout.h says what overlaps).
// The verifier proves every placement that the schedule claims.
enum class Placement : uint8_t { kOutOfPlace, kInPlace, kEither };

[[nodiscard]] std::string_view to_string(Placement placement) noexcept;
[[nodiscard]] std::optional<Placement> parse_placement(std::string_view text) noexcept;

struct Lane {
  uint32_t channel = 0;
  std::vector<Step> steps;

  friend bool operator==(const Lane&, const Lane&) = default;
};

// The size of a scratch position: that of one chunk, or kAnyChunk, the largest of all.
inline constexpr ChunkId kAnyChunk{UINT32_MAX};

struct RankProgram {
  std::vector<ChunkId> scratch;  // one entry a position
  std::vector<Lane> lanes;
  std::vector<StepRef> deps;  // the dependencies of all steps, in step order

  [[nodiscard]] std::span<const StepRef> deps_of(const Step& step) const {
    return std::span(deps).subspan(step.first_dep, step.num_deps);
  }

  friend bool operator==(const RankProgram&, const RankProgram&) = default;
};

struct Schedule {
  std::string name;  // the algorithm: "ring"
  Collective collective;
  uint32_t chunks_per_block = 1;
  // Messages that a connection can hold between send and recv, where a transport has slots. The
  // schedule must also work without any, by lending: then a send is complete when it was taken.
  uint32_t slots = 2;
  Placement placement = Placement::kEither;
  std::vector<RankProgram> ranks;

  [[nodiscard]] const Step& step(Rank rank, StepRef ref) const {
    return ranks[rank.value].lanes[ref.lane].steps[ref.step];
  }

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

[[nodiscard]] uint64_t num_steps(const Schedule& schedule) noexcept;

}  // namespace tutti::ir
