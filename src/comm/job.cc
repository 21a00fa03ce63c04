#include "comm/job.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "base/job_environment.h"
#include "base/try.h"
#include "comm/join.h"

namespace tutti::comm {
namespace {

// Under launchers other than ours nobody has made the directory; its parent is the user's too.
Status make_job_directory(const std::string& path) {
  const std::string parent = path.substr(0, path.rfind('/'));
  if (mkdir(parent.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{ErrorCode::kIo, fmt::format("cannot make {}: {}", parent, std::strerror(errno))};
  }
  return make_private_directory(path);
}

// A rank that is done may still be needed: others pull from its memory. So the last thing that
// ranks do is to meet. One that dies instead is seen by all, and ends the meeting.
struct Membership {
  std::shared_ptr<Group> world;

  ~Membership() {
    if (!world) return;
    CallOptions options{.name = "tutti: end of the job", .deadline = std::chrono::minutes(5)};
    // Liveness: all ranks end, or die, or the deadline passes.
    (void)world->submit({.kind = CollectiveKind::kBarrier, .options = options}).wait();
  }
};

}  // namespace

Result<std::shared_ptr<Group>> join_job() {
  static std::mutex mutex;
  static Membership joined;
  const std::lock_guard lock(mutex);
  if (joined.world) return joined.world;
  TUTTI_ASSIGN(const auto environment, base::read_job_environment());
  const base::JobEnvironment job = environment.value_or(base::JobEnvironment{});
  if (job.num_ranks > 1) TUTTI_TRY(make_job_directory(job.job_dir));
  TUTTI_ASSIGN(auto node, join({.rank = job.rank,
                                .num_ranks = job.num_ranks,
                                .directory = job.job_dir,
                                .id = job.job_id}));
  joined.world = std::make_shared<Group>(std::move(node), kWorldGroup, all_ranks(job.num_ranks));
  return joined.world;
}

}  // namespace tutti::comm
