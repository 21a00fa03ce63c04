#include "ir/matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "ir/shape.h"

namespace tutti::ir {

StepNumbering::StepNumbering(const Schedule& schedule) {
  TUTTI_CHECK(ir::num_steps(schedule) < kNoStep, "steps are numbered in 32 bits");
  rank_begin_.reserve(schedule.ranks.size());
  uint32_t steps = 0;
  for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
    rank_begin_.push_back(static_cast<uint32_t>(lane_begin_.size()));
    for (const Lane& lane : schedule.ranks[r].lanes) {
      lane_begin_.push_back(steps);
      lane_rank_.push_back(r);
      steps += static_cast<uint32_t>(lane.steps.size());
    }
  }
  lane_begin_.push_back(steps);
}

StepNumbering::Place StepNumbering::place(StepNumber number) const {
  const auto after = std::upper_bound(lane_begin_.begin(), lane_begin_.end(), number);
  const auto lane = static_cast<uint32_t>(after - lane_begin_.begin() - 1);
  const uint32_t rank = lane_rank_[lane];
  return {Rank{rank}, {lane - rank_begin_[rank], number - lane_begin_[lane]}};
}

namespace {

// One end of one message. Sorting by connection, then by place, lines the two ends up.
struct End {
  uint32_t from;
  uint32_t to;
  uint32_t channel;
  StepNumber step;
  uint32_t lane;
  uint32_t num_chunks;

  friend auto operator<=>(const End&, const End&) = default;
  [[nodiscard]] bool same_connection(const End& other) const {
    return from == other.from && to == other.to && channel == other.channel;
  }
};

struct Ends {
  std::vector<End> sends;
  std::vector<End> recvs;
};

// Sorts by connection, then by place. A stable counting pass brings ends of a sender together; what
// is left to sort is one rank's, and mostly in order already.
void sort_ends(std::vector<End>& ends, size_t num_ranks) {
  std::vector<size_t> next(num_ranks + 1, 0);
  for (const End& end : ends) ++next[end.from + 1];
  for (size_t r = 1; r <= num_ranks; ++r) next[r] += next[r - 1];
  std::vector<End> sorted(ends.size());
  for (const End& end : ends) sorted[next[end.from]++] = end;
  auto first = sorted.begin();
  for (size_t r = 0; r < num_ranks; ++r) {
    const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(next[r]);
    if (!std::is_sorted(first, last)) std::sort(first, last);
    first = last;
  }
  ends = std::move(sorted);
}

Ends collect_ends(const Schedule& schedule) {
  Ends ends;
  StepNumber number = 0;
  for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
    for (uint32_t l = 0; l < schedule.ranks[r].lanes.size(); ++l) {
      const Lane& lane = schedule.ranks[r].lanes[l];
      for (const Step& step : lane.steps) {
        const auto add = [&](std::vector<End>& list, uint32_t from, uint32_t to) {
          list.push_back({from, to, lane.channel, number, l, step.num_chunks});
        };
        if (sends(step.kind)) add(ends.sends, r, step.send_peer.value);
        if (receives(step.kind)) add(ends.recvs, step.recv_peer.value, r);
        ++number;
      }
    }
  }
  sort_ends(ends.sends, schedule.ranks.size());
  sort_ends(ends.recvs, schedule.ranks.size());
  return ends;
}

std::string name_of(const StepNumbering& numbering, StepNumber number) {
  const auto place = numbering.place(number);
  return step_name(place.rank, place.ref);
}

// Two lanes of one rank on one connection would race for its messages.
Status check_one_lane_per_connection(const std::vector<End>& ends, const StepNumbering& numbering,
                                     const char* verb) {
  for (size_t i = 1; i < ends.size(); ++i) {
    if (!ends[i].same_connection(ends[i - 1])) continue;
    if (ends[i].lane == ends[i - 1].lane) continue;
    return Error{
        ErrorCode::kMalformed,
        fmt::format("{} and {} both {} on the connection {} -> {} channel {}; one lane may",
                    name_of(numbering, ends[i - 1].step), name_of(numbering, ends[i].step), verb,
                    ends[i].from, ends[i].to, ends[i].channel)};
  }
  return {};
}

Error unmatched(const End& end, const char* role, const StepNumbering& numbering) {
  return {ErrorCode::kMalformed,
          fmt::format("{} {} on the connection {} -> {} channel {}, but the other end has no step "
                      "for this message",
                      name_of(numbering, end.step), role, end.from, end.to, end.channel)};
}

}  // namespace

Result<Matching> match_messages(const Schedule& schedule, const StepNumbering& numbering) {
  const Ends ends = collect_ends(schedule);
  for (auto [list, verb] : {std::pair{&ends.sends, "send"}, std::pair{&ends.recvs, "receive"}}) {
    if (Status status = check_one_lane_per_connection(*list, numbering, verb); !status) {
      return std::move(status.error());
    }
  }
  Matching matching;
  matching.taker.assign(numbering.num_steps(), kNoStep);
  matching.sender.assign(numbering.num_steps(), kNoStep);
  matching.sequence.assign(numbering.num_steps(), 0);
  size_t s = 0;
  size_t r = 0;
  while (s < ends.sends.size() || r < ends.recvs.size()) {
    const bool both = s < ends.sends.size() && r < ends.recvs.size();
    if (!both || !ends.sends[s].same_connection(ends.recvs[r])) {
      const bool send_is_alone =
          r == ends.recvs.size() ||
          (both && std::tie(ends.sends[s].from, ends.sends[s].to, ends.sends[s].channel) <
                       std::tie(ends.recvs[r].from, ends.recvs[r].to, ends.recvs[r].channel));
      return send_is_alone ? unmatched(ends.sends[s], "sends", numbering)
                           : unmatched(ends.recvs[r], "receives", numbering);
    }
    const End& send = ends.sends[s++];
    const End& recv = ends.recvs[r++];
    if (send.num_chunks != recv.num_chunks) {
      return Error{ErrorCode::kMalformed,
                   fmt::format("{} sends {} chunks but {} takes {}", name_of(numbering, send.step),
                               send.num_chunks, name_of(numbering, recv.step), recv.num_chunks)};
    }
    matching.taker[send.step] = recv.step;
    matching.sender[recv.step] = send.step;
    const bool first = s < 2 || !ends.sends[s - 2].same_connection(send);
    matching.sequence[send.step] = first ? 0 : matching.sequence[ends.sends[s - 2].step] + 1;
  }
  return matching;
}

}  // namespace tutti::ir
