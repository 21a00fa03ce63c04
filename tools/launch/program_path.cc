#include "tools/launch/program_path.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/job_environment.h"

namespace tutti::tools::launch {
namespace {

// 0, or the errno that exec would give.
int obstacle(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  return access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

bool is_missing(int error) { return error == ENOENT || error == ENOTDIR; }

}  // namespace

Result<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    const int error = obstacle(name);
    if (error != 0) return cannot_run(name, error);
    return name;
  }
  const std::string path = base::environment_variable("PATH").value_or("/bin:/usr/bin");
  Error problem{ErrorCode::kNotFound,
                fmt::format("there is no program '{}' along $PATH{}", name,
                            obstacle("./" + name) == 0 ? "; did you mean ./" + name + "?" : "")};
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const std::string folder = path.substr(begin, end - begin);
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    const int error = obstacle(file);
    if (error == 0) return file;
    if (error == EACCES && access(file.c_str(), F_OK) == 0) problem = cannot_run(file, error);
    begin = end + 1;
  }
  return problem;
}

Error cannot_run(const std::string& path, int error) {
  const bool there = access(path.c_str(), F_OK) == 0;
  if (is_missing(error) && !there) {
    return {ErrorCode::kNotFound, fmt::format("there is no program {}", path)};
  }
  std::string hint;
  if (error == ENOEXEC) hint = "; a script begins with a line such as #!/bin/sh";
  if (error == EACCES) hint = fmt::format("; try chmod +x {}", path);
  if (is_missing(error)) hint = "; the interpreter of its first line or its loader is missing";
  return {is_missing(error) ? ErrorCode::kNotFound : ErrorCode::kUnsupported,
          fmt::format("cannot run {}: {}{}", path, std::strerror(error), hint)};
}

int exit_code_of(const Error& error) {
  return error.code == ErrorCode::kNotFound ? kNoSuchProgram : kCannotRun;
}

}  // namespace tutti::tools::launch
