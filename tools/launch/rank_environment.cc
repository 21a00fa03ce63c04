#include "tools/launch/rank_environment.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/job_environment.h"

namespace tutti::tools::launch {

RankEnvironment::RankEnvironment(char* const* before, const std::vector<std::string>& changes) {
  for (; *before != nullptr; ++before) lines_.emplace_back(*before);
  for (const std::string& change : changes) {
    const size_t equals = change.find('=');
    set(std::string_view(change).substr(0, equals), std::string_view(change).substr(equals + 1));
  }
}

void RankEnvironment::set(std::string_view name, std::string_view value) {
  std::string line = fmt::format("{}={}", name, value);
  const auto old = std::find_if(lines_.begin(), lines_.end(), [&](const std::string& other) {
    return other.starts_with(name) && other[name.size()] == '=';
  });
  if (old == lines_.end()) {
    lines_.push_back(std::move(line));
  } else {
    *old = std::move(line);
  }
}

char* const* RankEnvironment::pointers() {
  pointers_.clear();
  for (std::string& line : lines_) pointers_.push_back(line.data());
  pointers_.push_back(nullptr);
  return pointers_.data();
}

Status check_change(const std::string& change) {
  const size_t equals = change.find('=');
  if (equals == std::string::npos || equals == 0) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("--env {}: write NAME=VALUE", change)};
  }
  const std::string name = change.substr(0, equals);
  for (const char* own : {base::kRankVariable, base::kNumRanksVariable, base::kLocalRankVariable,
                          base::kJobDirVariable, base::kJobIdVariable}) {
    if (name != own) continue;
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("--env {}: {} is set by tutti run itself", change, name)};
  }
  return {};
}

}  // namespace tutti::tools::launch
