#include "comm/join.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/try.h"
#include "comm/diagnosis/status_socket.h"
#include "comm/tuning_agreement.h"
#include "comm/tuning_file.h"
#include "transport/loopback/loopback.h"

namespace tutti::comm {
namespace {

// A job can do without one.
std::optional<StatusServer> status_server(const std::string& job_dir,
                                          const transport::Endpoint& endpoint) {
  Result<StatusServer> server = StatusServer::open(job_dir, endpoint);
  if (server) return *std::move(server);
  base::log(base::LogLevel::kWarn, endpoint.self().value,
            fmt::format("tutti status will not work: {}", server.error().message));
  return std::nullopt;
}

Result<std::unique_ptr<Watch>> watch_others(const Seat& seat, const transport::Shm& shm,
                                            engine::Engine& engine) {
  // Ranks that are threads of this process are watched like others: it does not outlive itself.
  std::vector<Watch::Process> processes;
  for (uint32_t r = 0; r < seat.num_ranks; ++r) {
    if (r != seat.rank.value) processes.push_back({Rank{r}, shm.ranks()[r].process});
  }
  const auto on_death = [&engine](Watch::Process dead) {
    engine.lose(dead.rank, fmt::format("its process {} has ended", dead.pid));
  };
  return Watch::start(processes, on_death, status_server(seat.directory, engine.endpoint()));
}

}  // namespace

std::vector<Rank> all_ranks(uint32_t num_ranks) {
  std::vector<Rank> ranks;
  for (uint32_t r = 0; r < num_ranks; ++r) ranks.emplace_back(r);
  return ranks;
}

Status make_private_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{ErrorCode::kIo, fmt::format("cannot make {}: {}", path, std::strerror(errno))};
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

Result<std::shared_ptr<Node>> join(const Seat& seat) {
  Result<TuningTable> tuning = find_tuning(seat.num_ranks);
  if (seat.num_ranks == 1) {
    if (!tuning) return std::move(tuning.error());
    TUTTI_ASSIGN(auto loopback, transport::Loopback::create(1));
    return std::make_shared<Node>(loopback, loopback->endpoint(Rank{0}), *std::move(tuning));
  }
  transport::ShmJob shm_job;
  shm_job.rank = seat.rank;
  shm_job.num_ranks = seat.num_ranks;
  shm_job.directory = seat.directory;
  shm_job.id = seat.id;
  shm_job.timeout_ns = seat.timeout_ns;
  // Also about a table that cannot be used: then all ranks end, and none waits for another.
  shm_job.remark = remark_on(tuning);
  TUTTI_ASSIGN(auto shm, transport::Shm::connect(shm_job));
  TUTTI_TRY(check_agreement(shm->remarks()));
  auto node = std::make_shared<Node>(shm, shm->endpoint(), *std::move(tuning));
  TUTTI_ASSIGN(node->watch, watch_others(seat, *shm, node->engine));
  return node;
}

}  // namespace tutti::comm
