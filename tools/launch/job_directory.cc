#include "tools/launch/job_directory.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/job_environment.h"
#include "tools/launch/descriptor.h"

namespace tutti::tools::launch {
namespace {

namespace fs = std::filesystem;

void make_writable(const std::string& path) {
  std::error_code error;
  fs::permissions(path, fs::perms::owner_all, fs::perm_options::add, error);
  for (fs::recursive_directory_iterator at(path, error), end; at != end && !error;) {
    if (at->is_directory(error) && !at->is_symlink(error)) {
      fs::permissions(at->path(), fs::perms::owner_all, fs::perm_options::add, error);
    }
    at.increment(error);
  }
}

}  // namespace

Result<JobDirectory> JobDirectory::create() {
  // Writable may still be full: then /tmp, the last resort.
  for (const std::string& parent : {base::runtime_directory(), std::string("/tmp")}) {
    std::string path = parent + "/tutti-run-XXXXXX";
    if (mkdtemp(path.data()) != nullptr) return JobDirectory(std::move(path));
  }
  return system_error("make a directory for the job in /tmp");
}

JobDirectory::~JobDirectory() {
  if (!path_.empty()) remove_directory(path_);
}

bool remove_directory(const std::string& path) noexcept {
  try {
    std::error_code error;
    fs::remove_all(path, error);
    if (!error) return true;
    make_writable(path);
    fs::remove_all(path, error);
    return !error;
  } catch (const std::exception&) {  // out of memory, as paths are built
    return false;
  }
}

Result<std::string> make_job_id() {
  std::array<uint64_t, 2> words{};
  if (getrandom(words.data(), sizeof words, 0) != static_cast<ssize_t>(sizeof words)) {
    return system_error("get random bytes");
  }
  return fmt::format("{:016x}{:016x}", words[0], words[1]);
}

}  // namespace tutti::tools::launch
