// Jobs that no launcher made: ranks that agree on a place of this host meet there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/ids.h"
#include "comm/group.h"
#include "tutti/result.h"

namespace tutti::comm {

// The name of a folder that is not there yet; the first rank to come makes it.
[[nodiscard]] Result<std::string> make_meeting_place();

// The group of all ranks. Its last owner leaves the job (comm/leaving.h).
[[nodiscard]] Result<std::shared_ptr<Group>> meet(const std::string& place, Rank rank,
                                                  uint32_t num_ranks, uint64_t timeout_ns);

}  // namespace tutti::comm
