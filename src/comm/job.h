// Joins the job that this process was started in.
#pragma once

#include <memory>

#include "comm/group.h"
#include "tutti/result.h"

namespace tutti::comm {

// The group of all ranks; the same one however often it is asked for, since a job is joined once.
// At the end of the process it waits for the others, so that nobody leaves while it is needed.
[[nodiscard]] Result<std::shared_ptr<Group>> join_job();

}  // namespace tutti::comm
