// The answer of `tutti status --json`: docs/reference/status.md.
#pragma once

#include <span>
#include <string>

#include "comm/diagnosis/findings.h"

namespace tutti::tools {

struct JobFindings {
  std::string directory;
  comm::Findings findings;
};

[[nodiscard]] std::string to_json(std::span<const JobFindings> jobs);

}  // namespace tutti::tools
