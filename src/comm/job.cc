#include "comm/job.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/job_environment.h"
#include "base/log.h"
#include "base/try.h"
#include "comm/diagnosis/status_socket.h"
#include "comm/tuning_agreement.h"
#include "comm/tuning_file.h"
#include "transport/loopback/loopback.h"
#include "transport/shm/shm.h"

namespace tutti::comm {
namespace {

// Under launchers other than ours nobody has made the directory; its parent is the user's too.
Status make_private_directory(const std::string& path) {
  const std::string parent = path.substr(0, path.rfind('/'));
  for (const std::string& folder : {parent, path}) {
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return Error{ErrorCode::kIo, fmt::format("cannot make {}: {}", folder, std::strerror(errno))};
    }
  }
  struct stat facts {};
  const bool is_private = stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) &&
                          facts.st_uid == geteuid() && (facts.st_mode & 077) == 0;
  if (!is_private) {
    return Error{ErrorCode::kIo,
                 fmt::format("{} must be a folder of this user that nobody else may enter", path)};
  }
  return {};
}

// A job can do without one.
std::optional<StatusServer> status_server(const std::string& job_dir,
                                          const transport::Endpoint& endpoint) {
  Result<StatusServer> server = StatusServer::open(job_dir, endpoint);
  if (server) return *std::move(server);
  base::log(base::LogLevel::kWarn, endpoint.self().value,
            fmt::format("tutti status will not work: {}", server.error().message));
  return std::nullopt;
}

Result<std::shared_ptr<Node>> join(const base::JobEnvironment& job) {
  Result<TuningTable> tuning = find_tuning();
  if (job.num_ranks == 1) {
    if (!tuning) return std::move(tuning.error());
    TUTTI_ASSIGN(auto loopback, transport::Loopback::create(1));
    return std::make_shared<Node>(loopback, loopback->endpoint(Rank{0}), *std::move(tuning));
  }
  TUTTI_TRY(make_private_directory(job.job_dir));
  transport::ShmJob shm_job;
  shm_job.rank = job.rank;
  shm_job.num_ranks = job.num_ranks;
  shm_job.directory = job.job_dir;
  shm_job.id = job.job_id;
  // Also about a table that cannot be used: then all ranks end, and none waits for another.
  shm_job.remark = remark_on(tuning);
  TUTTI_ASSIGN(auto shm, transport::Shm::connect(shm_job));
  TUTTI_TRY(check_agreement(shm->remarks()));
  auto node = std::make_shared<Node>(shm, shm->endpoint(), *std::move(tuning));
  std::vector<Watch::Process> processes;
  for (uint32_t r = 0; r < job.num_ranks; ++r) {
    if (r != job.rank.value) processes.push_back({Rank{r}, shm->ranks()[r].process});
  }
  engine::Engine* const engine = &node->engine;
  const auto on_death = [engine](Watch::Process dead) {
    engine->lose(dead.rank, fmt::format("its process {} has ended", dead.pid));
  };
  TUTTI_ASSIGN(node->watch,
               Watch::start(processes, on_death, status_server(job.job_dir, engine->endpoint())));
  return node;
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
  TUTTI_ASSIGN(auto node, join(job));
  std::vector<Rank> members;
  for (uint32_t r = 0; r < job.num_ranks; ++r) members.emplace_back(r);
  joined.world = std::make_shared<Group>(std::move(node), 1, std::move(members));
  return joined.world;
}

}  // namespace tutti::comm
