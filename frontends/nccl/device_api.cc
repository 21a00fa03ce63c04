// NCCL's interface for kernels that communicate themselves (nccl_device.h). It is not served: every
// function that can say so does. They are here so that programs that might call them start at all.
#include "frontends/nccl/alias.h"
#include "frontends/nccl/comm.h"
#include "frontends/nccl/errors.h"

struct ncclTeam {
  int nRanks, rank, stride;
};

namespace {

ncclResult_t no_device_api() {
  return tutti::nccl::failed(
      tutti::nccl::bad_usage("communication from within kernels (nccl_device.h) is not served"));
}

ncclTeam team_of_all(ncclComm_t comm) {
  if (!tutti::nccl::check_ready(comm).ok()) return {0, 0, 0};
  return {static_cast<int>(comm->gpu().num_ranks()), static_cast<int>(comm->gpu().rank()), 1};
}

// Ranks of a team are those of the communicator from a first one on, `stride` apart.
int rank_of_all(ncclComm_t comm, ncclTeam team, int rank) {
  return team_of_all(comm).rank + (rank - team.rank) * team.stride;
}

}  // namespace

extern "C" {

ncclResult_t ncclDevCommCreate(ncclComm_t, const void* /*requirements*/, void* /*made*/) {
  return no_device_api();
}
ncclResult_t ncclDevCommDestroy(ncclComm_t, const void* /*made*/) { return no_device_api(); }
ncclResult_t ncclGinBarrierCreateRequirement(ncclComm_t, ncclTeam, int, void*, void*) {
  return no_device_api();
}
ncclResult_t ncclLsaBarrierCreateRequirement(ncclTeam, int, void*, void*) {
  return no_device_api();
}
ncclResult_t ncclLLA2ACreateRequirement(int, int, void*, void*) { return no_device_api(); }
int ncclLLA2ACalcSlots(int, int) { return 0; }

// One host: all ranks reach each other's memory, and each is alone on its rail.
ncclTeam ncclTeamWorld(ncclComm_t comm) { return team_of_all(comm); }
ncclTeam ncclTeamLsa(ncclComm_t comm) { return team_of_all(comm); }
ncclTeam ncclTeamRail(ncclComm_t comm) { return {1, 0, team_of_all(comm).nRanks}; }
int ncclTeamRankToWorld(ncclComm_t comm, ncclTeam team, int rank) {
  return rank_of_all(comm, team, rank);
}
int ncclTeamRankToLsa(ncclComm_t comm, ncclTeam team, int rank) {
  return rank_of_all(comm, team, rank);
}

}  // extern "C"

TUTTI_NCCL_ALIAS(DevCommCreate);
TUTTI_NCCL_ALIAS(DevCommDestroy);
TUTTI_NCCL_ALIAS(GinBarrierCreateRequirement);
TUTTI_NCCL_ALIAS(LsaBarrierCreateRequirement);
TUTTI_NCCL_ALIAS(LLA2ACreateRequirement);
TUTTI_NCCL_ALIAS(LLA2ACalcSlots);
TUTTI_NCCL_ALIAS(TeamWorld);
TUTTI_NCCL_ALIAS(TeamLsa);
TUTTI_NCCL_ALIAS(TeamRail);
TUTTI_NCCL_ALIAS(TeamRankToWorld);
TUTTI_NCCL_ALIAS(TeamRankToLsa);
