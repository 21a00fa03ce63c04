// How a rank leaves a job that its ranks formed by themselves. A rank that is done may still be
// needed, for others pull from its memory, and it need not be the end of its process. So what the
// rank is lives on in a thread of its own until all ranks have left or the deadline passes. Nobody
// waits for that but the end of the process, which also leaves for ranks that nobody let go of.
#pragma once

#include <memory>
#include <string>

#include "comm/node.h"

namespace tutti::comm {

// The node, as something whose last owner leaves the job without waiting. Whoever leaves last
// removes the directory.
[[nodiscard]] std::shared_ptr<Node> leaving_at_end(std::shared_ptr<Node> node,
                                                   std::string directory);

}  // namespace tutti::comm
