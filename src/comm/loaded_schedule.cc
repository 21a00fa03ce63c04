#include "comm/loaded_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/invalid.h"
#include "base/try.h"
#include "comm/keys.h"
#include "comm/schedule_file.h"
#include "engine/program.h"
#include "ir/text.h"
#include "verify/check.h"

namespace tutti::comm {
namespace {

std::string title_of(const ir::Schedule& schedule) {
  const Collective& collective = schedule.collective;
  return fmt::format("{} {} of {} ranks{}", to_string(collective.kind), schedule.name,
                     collective.num_ranks,
                     is_rooted(collective.kind) ? fmt::format(", root {}", collective.root) : "");
}

bool serve_alike(const Collective& a, const Collective& b) {
  return a.kind == b.kind && a.num_ranks == b.num_ranks && (!is_rooted(a.kind) || a.root == b.root);
}

bool overlap(const ByteRange& a, const ByteRange& b) {
  return a.min_bytes <= b.max_bytes && b.min_bytes <= a.max_bytes;
}

// A program counts a rank's connections, and what of its buffers is sent, in 16 bits.
bool has_room(const ir::RankProgram& rank) {
  size_t num_sent = 0;
  std::set<std::pair<uint32_t, uint32_t>> ins;
  std::set<std::pair<uint32_t, uint32_t>> outs;
  for (const ir::Lane& lane : rank.lanes) {
    for (const ir::Step& step : lane.steps) {
      if (ir::receives(step.kind)) ins.emplace(step.recv_peer.value, lane.channel);
      if (!ir::sends(step.kind)) continue;
      outs.emplace(step.send_peer.value, lane.channel);
      ++num_sent;
    }
  }
  return std::max({ins.size(), outs.size(), num_sent}) < engine::kNoLink;
}

Status check_usable(const ir::Schedule& schedule) {
  if (schedule.collective.kind == CollectiveKind::kSendRecv) {
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("{}: messages follow no schedule of the caller's", title_of(schedule))};
  }
  if (schedule.placement == ir::Placement::kInPlace) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{} serves calls in place alone; a communicator has to serve both",
                             title_of(schedule))};
  }
  for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
    if (has_room(schedule.ranks[r])) continue;
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{}: rank {} sends more messages than a program has room for, {}; "
                             "plan it with fewer chunks",
                             title_of(schedule), r, engine::kNoLink - 1)};
  }
  return {};
}

uint64_t digest_of(const ir::Schedule& schedule) {
  uint64_t hash = 1;
  for (const char c : ir::to_text(schedule)) hash = mix(hash, static_cast<unsigned char>(c));
  return hash;
}

}  // namespace

Result<LoadedSchedule> load_schedule(verify::VerifiedSchedule schedule, const ByteRange& sizes,
                                     std::string source) {
  if (sizes.min_bytes > sizes.max_bytes) {
    return invalid(fmt::format("no size is at least {} and at most {} bytes", sizes.min_bytes,
                               sizes.max_bytes));
  }
  TUTTI_TRY(check_usable(schedule.schedule()));
  const uint64_t digest = digest_of(schedule.schedule());
  return LoadedSchedule{std::move(schedule), sizes, std::move(source), digest};
}

Result<LoadedSchedule> load_schedule(const std::string& path, const ByteRange& sizes) {
  TUTTI_ASSIGN(ir::Schedule schedule, read_schedule(path));
  Result<verify::VerifiedSchedule> proved = verify::check(std::move(schedule)).result();
  if (!proved) {
    return Error{proved.error().code,
                 fmt::format("{} is not proved: {}", path, proved.error().message)};
  }
  return load_schedule(*std::move(proved), sizes, path);
}

std::string describe(const LoadedSchedule& loaded) {
  const std::string name = title_of(loaded.schedule.schedule());
  return loaded.source.empty() ? name : fmt::format("{} ({})", loaded.source, name);
}

Status check_fits(std::span<const LoadedSchedule> schedules, uint32_t num_ranks) {
  for (const LoadedSchedule& loaded : schedules) {
    if (loaded.schedule.schedule().collective.num_ranks <= num_ranks) continue;
    return invalid(fmt::format("{} has no use in a job of {} ranks", describe(loaded), num_ranks));
  }
  return {};
}

Status check_members(const LoadedSchedule& loaded, uint32_t num_ranks) {
  if (loaded.schedule.schedule().collective.num_ranks == num_ranks) return {};
  return invalid(fmt::format("{} is for another communicator: this one has {} ranks",
                             describe(loaded), num_ranks));
}

Status add_schedule(std::vector<LoadedSchedule>& schedules, LoadedSchedule loaded) {
  for (const LoadedSchedule& other : schedules) {
    if (serve_alike(other.schedule.schedule().collective, loaded.schedule.schedule().collective) &&
        overlap(other.sizes, loaded.sizes)) {
      return invalid(
          fmt::format("{} and {} speak of the same calls", describe(other), describe(loaded)));
    }
  }
  schedules.push_back(std::move(loaded));
  return {};
}

const LoadedSchedule* find_schedule(std::span<const LoadedSchedule> schedules,
                                    const Collective& collective, uint64_t bytes) {
  const auto found =
      std::find_if(schedules.begin(), schedules.end(), [&](const LoadedSchedule& loaded) {
        return serve_alike(loaded.schedule.schedule().collective, collective) &&
               overlap(loaded.sizes, {bytes, bytes});
      });
  return found == schedules.end() ? nullptr : &*found;
}

}  // namespace tutti::comm
