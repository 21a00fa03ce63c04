// The environment of each rank: the launcher's, with what --env and the job change.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/result.h"

namespace tutti::tools::launch {

class RankEnvironment {
 public:
  // `before` is NULL-terminated like environ; `changes` are NAME=VALUE, the last of a name counts.
  RankEnvironment(char* const* before, const std::vector<std::string>& changes);

  void set(std::string_view name, std::string_view value);
  // For execve; good until the next change.
  [[nodiscard]] char* const* pointers();

 private:
  std::vector<std::string> lines_;
  std::vector<char*> pointers_;
};

// An error unless it is NAME=VALUE with a name that is not the launcher's to set.
[[nodiscard]] Status check_change(const std::string& change);

}  // namespace tutti::tools::launch
