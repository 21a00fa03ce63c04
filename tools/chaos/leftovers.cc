#include "tools/chaos/leftovers.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "base/job_environment.h"
#include "base/try.h"

namespace tutti::tools::chaos {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderVariable = "XDG_RUNTIME_DIR";

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; at != end && !error; at.increment(error)) {
    names.insert(at->path().filename());
  }
  return names;
}

// What each is, since numbers come again; without the one that lists them.
std::set<std::string> open_descriptors() {
  std::set<std::string> descriptors;
  for (const std::string& number : names_in("/proc/self/fd")) {
    std::error_code error;
    const fs::path target = fs::read_symlink("/proc/self/fd/" + number, error);
    if (!error && !target.string().starts_with("/proc/")) {
      descriptors.insert(number + " " + target.string());
    }
  }
  return descriptors;
}

std::set<std::string> shared_memory() {
  std::set<std::string> ours;
  for (const std::string& name : names_in("/dev/shm")) {
    if (name.find("tutti") != std::string::npos) ours.insert(name);
  }
  return ours;
}

// Whether a child still runs; those that ended are buried.
bool has_running_child() {
  // Liveness: it does not wait; every turn buries one.
  for (;;) {
    const pid_t pid = waitpid(-1, nullptr, WNOHANG);
    if (pid == 0) return true;
    if (pid < 0) return errno != ECHILD;
  }
}

bool processes_end() {
  using namespace std::chrono_literals;
  const auto end = std::chrono::steady_clock::now() + 2s;
  // Liveness: until the children end, or for two seconds.
  while (has_running_child()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

void add_new(std::vector<std::string>& found, const char* what, const std::set<std::string>& now,
             const std::set<std::string>& before) {
  for (const std::string& name : now) {
    if (!before.contains(name)) found.push_back(fmt::format("{} {}", what, name));
  }
}

}  // namespace

Result<std::unique_ptr<Leftovers>> Leftovers::watch() {
  TUTTI_ASSIGN(launch::JobDirectory folder, launch::JobDirectory::create());
  return std::unique_ptr<Leftovers>(new Leftovers(std::move(folder)));
}

Leftovers::Leftovers(launch::JobDirectory folder)
    : folder_(std::move(folder)),
      folder_before_(base::environment_variable(kFolderVariable)),
      descriptors_(open_descriptors()),
      shared_memory_(shared_memory()) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  setenv(kFolderVariable, folder_.path().c_str(), 1);
}

Leftovers::~Leftovers() {
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  if (folder_before_) {
    setenv(kFolderVariable, folder_before_->c_str(), 1);
  } else {
    unsetenv(kFolderVariable);
  }
}

std::vector<std::string> Leftovers::look() const {
  std::vector<std::string> found;
  if (!processes_end()) found.emplace_back("a process that still runs");
  add_new(found, "file", names_in(folder_.path()), {});
  add_new(found, "shared memory", shared_memory(), shared_memory_);
  add_new(found, "descriptor", open_descriptors(), descriptors_);
  return found;
}

}  // namespace tutti::tools::chaos
