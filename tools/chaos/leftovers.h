// What jobs may leave behind: processes, files, shared memory, descriptors. Look before the first
// job and after each.
//
// While one of these lives, this process adopts orphans and gives jobs a folder of its own for
// their files, so that what is left is theirs and not a stranger's.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/launch/job_directory.h"
#include "tutti/result.h"

namespace tutti::tools::chaos {

class Leftovers {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Leftovers>> watch();
  ~Leftovers();
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;

  // One line for each thing that is here now and was not before; processes get a moment to end.
  [[nodiscard]] std::vector<std::string> look() const;

 private:
  explicit Leftovers(launch::JobDirectory folder);

  launch::JobDirectory folder_;
  std::optional<std::string> folder_before_;  // of the user's short-lived files
  std::set<std::string> descriptors_;
  std::set<std::string> shared_memory_;
};

}  // namespace tutti::tools::chaos
