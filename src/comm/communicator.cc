#include "tutti/communicator.h"

#include <algorithm>
#include <numeric>

#include "base/try.h"
#include "comm/group.h"
#include "comm/job.h"
#include "comm/join.h"
#include "comm/loaded_schedule.h"
#include "comm/meet.h"
#include "comm/tuning_file.h"
#include "transport/loopback/loopback.h"
#include "tutti/schedule.h"

namespace tutti {

Result<Communicator> Communicator::from_environment() {
  TUTTI_ASSIGN(auto world, comm::join_job());
  return Communicator(std::move(world));
}

Result<std::vector<Communicator>> Communicator::threads(uint32_t num_ranks) {
  if (num_ranks == 0) return Error{ErrorCode::kInvalidArgument, "a job has at least one rank"};
  TUTTI_ASSIGN(const comm::TuningTable tuning, comm::find_tuning(num_ranks));
  TUTTI_ASSIGN(const auto loopback, transport::Loopback::create(num_ranks));
  std::vector<Communicator> ranks;
  for (uint32_t r = 0; r < num_ranks; ++r) {
    auto node = std::make_shared<comm::Node>(loopback, loopback->endpoint(Rank{r}), tuning);
    ranks.emplace_back(std::make_shared<comm::Group>(std::move(node), comm::kWorldGroup,
                                                     comm::all_ranks(num_ranks)));
  }
  return ranks;
}

Result<std::string> Communicator::make_meeting_place() { return comm::make_meeting_place(); }

Result<Communicator> Communicator::meet(const std::string& place, uint32_t rank, uint32_t num_ranks,
                                        const CallOptions& options) {
  const auto timeout_ns = static_cast<uint64_t>(std::max<int64_t>(options.deadline.count(), 0));
  TUTTI_ASSIGN(auto world, comm::meet(place, Rank{rank}, num_ranks, timeout_ns));
  return Communicator(std::move(world));
}

uint32_t Communicator::rank() const { return group_->self().value; }
uint32_t Communicator::num_ranks() const { return group_->num_ranks(); }

Work Communicator::submit(const Call& call) { return group_->submit(call); }

Result<Communicator> Communicator::subset(std::span<const uint32_t> ranks) {
  TUTTI_ASSIGN(auto group, group_->subset(ranks));
  return Communicator(std::move(group));
}

Result<Communicator> Communicator::duplicate() {
  std::vector<uint32_t> ranks(num_ranks());
  std::iota(ranks.begin(), ranks.end(), 0);
  return subset(ranks);
}

Result<Communicator> Communicator::split(int64_t color, int64_t key, const CallOptions& options) {
  TUTTI_ASSIGN(auto group, group_->split(color, key, options));
  return Communicator(std::move(group));
}

Result<Communicator> Communicator::with_schedule(const VerifiedSchedule& schedule,
                                                 const ByteRange& sizes,
                                                 const CallOptions& options) {
  TUTTI_ASSIGN(auto group,
               group_->with_schedule(comm::load_schedule(schedule.proved(), sizes), options));
  return Communicator(std::move(group));
}

Result<Communicator> Communicator::with_schedule(const std::string& path, const ByteRange& sizes,
                                                 const CallOptions& options) {
  TUTTI_ASSIGN(auto group, group_->with_schedule(comm::load_schedule(path, sizes), options));
  return Communicator(std::move(group));
}

Result<Communicator> Communicator::shrink(const CallOptions& options) {
  TUTTI_ASSIGN(auto group, group_->shrink(options));
  return Communicator(std::move(group));
}

void Communicator::abort() { group_->abort(); }

}  // namespace tutti
