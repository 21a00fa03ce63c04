// How communicators begin: ranks that meet, and parts of communicators that are there.
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontends/nccl/alias.h"
#include "frontends/nccl/comm.h"
#include "frontends/nccl/config.h"
#include "frontends/nccl/errors.h"
#include "frontends/nccl/group.h"

namespace tutti::nccl {
namespace {

// Null: this rank is in none.
using Made = Result<std::optional<DeviceCommunicator>>;
using Make = std::function<Made()>;

struct Newcomer {
  std::string place;
  uint32_t rank;
  uint32_t num_ranks;
  int device;
};

Made on_device(const Communicator& host, int device) {
  auto ranks = DeviceCommunicator::create(host, device);
  if (!ranks.ok()) return std::move(ranks.error());
  return std::optional(*std::move(ranks));
}

Made let_in(const Newcomer& newcomer) {
  auto host = Communicator::meet(newcomer.place, newcomer.rank, newcomer.num_ranks);
  if (!host.ok()) return std::move(host.error());
  return on_device(*host, newcomer.device);
}

Status hand_over(const Make& make, ncclComm_t* to) {
  auto made = make();
  if (!made.ok()) return std::move(made.error());
  if (*made) {
    *to = new ncclComm(std::make_shared<Making>(**std::move(made)), ncclComm::Mode::kBlocking);
  }
  return {};
}

// `to` gets the communicator when it is made, or at once if nobody waits for that; null: this rank
// will be in none.
Status begin(ncclComm* parent, ncclComm::Mode mode, ncclComm_t* to, Make make) {
  CallGroup& group = CallGroup::of_thread();
  if (mode == ncclComm::Mode::kBlocking) {
    return group.open(parent, mode, [make = std::move(make), to] { return hand_over(make, to); });
  }
  const auto making = std::make_shared<Making>();
  if (to != nullptr) *to = new ncclComm(making, mode);
  if (parent != nullptr) parent->add_part(making);
  return group.open(parent, mode,
                    [make = std::move(make), maker = std::make_shared<Maker>(making)] {
                      maker->finish(make());
                      return Status{};
                    });
}

std::string place_in(const ncclUniqueId& id) {
  return {id.internal, strnlen(id.internal, sizeof id.internal)};
}

Status init_rank(ncclComm_t* comm, int num_ranks, const ncclUniqueId& id, int rank,
                 const ncclConfig_t* config) {
  CallGroup& group = CallGroup::of_thread();
  if (comm == nullptr) return group.refuse(bad_argument("comm is NULL"));
  *comm = nullptr;
  if (num_ranks < 1 || rank < 0 || rank >= num_ranks) {
    return group.refuse(bad_argument("rank " + std::to_string(rank) + " of " +
                                     std::to_string(num_ranks) + " ranks"));
  }
  if (Status known = check_config(config); !known.ok()) return group.refuse(known.error());
  const auto device = current_device();
  if (!device.ok()) return group.refuse(device.error());
  const Newcomer newcomer{place_in(id), static_cast<uint32_t>(rank),
                          static_cast<uint32_t>(num_ranks), *device};
  return begin(nullptr, mode_of(config), comm, [newcomer] { return let_in(newcomer); });
}

Status init_all(ncclComm_t* comms, int num_devices, const int* devices) {
  CallGroup& group = CallGroup::of_thread();
  if (comms == nullptr) return group.refuse(bad_argument("comms is NULL"));
  if (num_devices < 1) return group.refuse(bad_argument("at least one device is wanted"));
  const auto place = Communicator::make_meeting_place();
  if (!place.ok()) return group.refuse(place.error());
  group.start();
  for (int i = 0; i < num_devices; ++i) {
    comms[i] = nullptr;
    const Newcomer newcomer{*place, static_cast<uint32_t>(i), static_cast<uint32_t>(num_devices),
                            devices == nullptr ? i : devices[i]};
    (void)begin(nullptr, ncclComm::Mode::kBlocking, &comms[i],
                [newcomer] { return let_in(newcomer); });
  }
  return group.end();
}

// Also called by ranks that want no part: the others wait to hear that.
Made split(Communicator host, int device, int color, int key) {
  // Liveness: ends when all ranks have called it, when one is lost, or at the deadline.
  auto ranks = host.split(color, key);
  if (!ranks.ok()) return std::move(ranks.error());
  if (color == kNoColor) return std::optional<DeviceCommunicator>();
  return on_device(*ranks, device);
}

Result<std::vector<uint32_t>> ranks_but(uint32_t num_ranks, const int* excluded, int num_excluded) {
  std::vector<bool> stays(num_ranks, true);
  for (int i = 0; i < num_excluded; ++i) {
    const auto rank = static_cast<uint32_t>(excluded[i]);
    if (excluded[i] < 0 || rank >= num_ranks) {
      return bad_argument("shrink: rank " + std::to_string(excluded[i]) + " of " +
                          std::to_string(num_ranks));
    }
    if (!stays[rank]) return bad_argument("shrink: a rank is named twice");
    stays[rank] = false;
  }
  std::vector<uint32_t> rest;
  for (uint32_t r = 0; r < num_ranks; ++r) {
    if (stays[r]) rest.push_back(r);
  }
  return rest;
}

Made shrink(Communicator host, int device, const std::vector<uint32_t>& rest) {
  auto ranks = host.subset(rest);
  if (!ranks.ok()) return std::move(ranks.error());
  return on_device(*ranks, device);
}

}  // namespace
}  // namespace tutti::nccl

using tutti::nccl::answer;
using tutti::nccl::bad_argument;
using tutti::nccl::begin;
using tutti::nccl::CallGroup;
using tutti::nccl::failed;
using tutti::nccl::mode_of;
using tutti::nccl::shrink;
using tutti::nccl::split;

namespace {

ncclResult_t answered(const tutti::Status& status) {
  return CallGroup::of_thread().answered(status);
}

}  // namespace

extern "C" {

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (id == nullptr) return failed(bad_argument("id is NULL"));
  const auto place = tutti::Communicator::make_meeting_place();
  if (!place.ok()) return failed(place.error());
  *id = {};
  place->copy(id->internal, sizeof id->internal - 1);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int num_ranks, ncclUniqueId id, int rank) {
  return answered(tutti::nccl::init_rank(comm, num_ranks, id, rank, nullptr));
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int num_ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  return answered(tutti::nccl::init_rank(comm, num_ranks, id, rank, config));
}

// Several ids spread a crowd over several doors; on one host the first is enough.
ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int num_ranks, int rank, int num_ids,
                                      ncclUniqueId* ids, ncclConfig_t* config) {
  if (ids == nullptr || num_ids < 1) {
    return answer(CallGroup::of_thread().refuse(bad_argument("ids is NULL, or there is none")));
  }
  return answered(tutti::nccl::init_rank(comm, num_ranks, ids[0], rank, config));
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int num_devices, const int* devices) {
  return answer(tutti::nccl::init_all(comms, num_devices, devices));
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* part,
                           ncclConfig_t* config) {
  CallGroup& group = CallGroup::of_thread();
  if (part == nullptr) return answer(group.refuse(bad_argument("newcomm is NULL")));
  *part = nullptr;
  tutti::Status known = tutti::nccl::check_ready(comm);
  if (known.ok()) known = tutti::nccl::check_config(config);
  if (known.ok() && color < tutti::nccl::kNoColor) {
    known = bad_argument("a color is not negative, or NCCL_SPLIT_NOCOLOR");
  }
  if (!known.ok()) return answer(group.refuse(known.error()));
  // It keeps what it needs: the whole may be destroyed meanwhile.
  return answered(begin(comm, mode_of(config, comm->mode()),
                        color == tutti::nccl::kNoColor ? nullptr : part,
                        [host = comm->gpu().host(), device = comm->gpu().device(), color, key] {
                          return split(host, device, color, key);
                        }));
}

ncclResult_t ncclCommShrink(ncclComm_t comm, int* excluded, int num_excluded, ncclComm_t* rest,
                            ncclConfig_t* config, int flags) {
  CallGroup& group = CallGroup::of_thread();
  if (rest == nullptr) return answer(group.refuse(bad_argument("newcomm is NULL")));
  *rest = nullptr;
  tutti::Status known = tutti::nccl::check_ready(comm);
  if (known.ok()) known = tutti::nccl::check_config(config);
  if (known.ok() && (excluded == nullptr || num_excluded < 1)) {
    known = bad_argument("shrink: the list of ranks to leave out is empty");
  }
  if (!known.ok()) return answer(group.refuse(known.error()));
  auto ranks = tutti::nccl::ranks_but(comm->gpu().num_ranks(), excluded, num_excluded);
  if (!ranks.ok()) return answer(group.refuse(ranks.error()));
  std::optional<tutti::DeviceCommunicator> aborted;
  if ((flags & tutti::nccl::kShrinkAborts) != 0) aborted = comm->gpu();
  return answered(begin(comm, mode_of(config, comm->mode()), rest,
                        [host = comm->gpu().host(), device = comm->gpu().device(),
                         ranks = *std::move(ranks), aborted]() mutable {
                          if (aborted) aborted->abort();
                          return shrink(host, device, ranks);
                        }));
}

}  // extern "C"

TUTTI_NCCL_ALIAS(GetUniqueId);
TUTTI_NCCL_ALIAS(CommInitRank);
TUTTI_NCCL_ALIAS(CommInitRankConfig);
TUTTI_NCCL_ALIAS(CommInitRankScalable);
TUTTI_NCCL_ALIAS(CommInitAll);
TUTTI_NCCL_ALIAS(CommSplit);
TUTTI_NCCL_ALIAS(CommShrink);
