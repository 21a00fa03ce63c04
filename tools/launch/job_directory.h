// The directory that the ranks of a job meet in: private to the user, new for every job, and gone
// with all that is in it when the job is.
#pragma once

#include <string>
#include <utility>

#include "tutti/result.h"

namespace tutti::tools::launch {

class JobDirectory {
 public:
  [[nodiscard]] static Result<JobDirectory> create();
  JobDirectory(JobDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  JobDirectory& operator=(JobDirectory&&) = delete;
  ~JobDirectory();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit JobDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;  // empty: moved from
};

// Also what its owner may not write to. True when nothing is left.
bool remove_directory(const std::string& path) noexcept;

// 128 random bits in hexadecimal.
[[nodiscard]] Result<std::string> make_job_id();

}  // namespace tutti::tools::launch
