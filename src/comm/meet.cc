#include "comm/meet.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/job_environment.h"
#include "base/try.h"
#include "comm/join.h"
#include "comm/leaving.h"

namespace tutti::comm {
namespace {

// As `tutti run` calls its jobs' folders, so that `tutti status` finds these too.
constexpr std::string_view kFolderPrefix = "/tutti-run-";
// A socket's path holds 107 bytes: the place, and "/status." with a rank's number.
constexpr size_t kMostCharacters = 94;

Status check_seat(const std::string& place, Rank rank, uint32_t num_ranks) {
  if (num_ranks == 0) return Error{ErrorCode::kInvalidArgument, "a job has at least one rank"};
  if (rank.value >= num_ranks) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("rank {} of {} ranks", rank.value, num_ranks)};
  }
  const bool is_place = place.starts_with('/') && place.size() <= kMostCharacters &&
                        place.find(kFolderPrefix) == place.rfind('/');
  if (!is_place) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("'{}' is no meeting place: one rank makes it, and tells the others",
                             place.substr(0, kMostCharacters))};
  }
  return {};
}

}  // namespace

Result<std::string> make_meeting_place() {
  std::array<uint64_t, 2> words{};
  if (getrandom(words.data(), sizeof words, 0) != static_cast<ssize_t>(sizeof words)) {
    return Error{ErrorCode::kIo, fmt::format("cannot get random bytes: {}", std::strerror(errno))};
  }
  const std::string name = fmt::format("{}{:016x}{:016x}", kFolderPrefix, words[0], words[1]);
  const std::string place = base::runtime_directory() + name;
  return place.size() <= kMostCharacters ? place : "/tmp" + name;
}

Result<std::shared_ptr<Group>> meet(const std::string& place, Rank rank, uint32_t num_ranks,
                                    uint64_t timeout_ns) {
  TUTTI_TRY(check_seat(place, rank, num_ranks));
  if (num_ranks > 1) TUTTI_TRY(make_private_directory(place));
  Result<std::shared_ptr<Node>> node = join({.rank = rank,
                                             .num_ranks = num_ranks,
                                             .directory = place,
                                             .id = place,
                                             .timeout_ns = timeout_ns});
  if (!node) {
    rmdir(place.c_str());  // unless others are in it
    return std::move(node.error());
  }
  // Who is alone leaves nobody.
  return std::make_shared<Group>(num_ranks == 1 ? *node : leaving_at_end(*node, place), kWorldGroup,
                                 all_ranks(num_ranks));
}

}  // namespace tutti::comm
