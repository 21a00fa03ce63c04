#include "tools/launch/descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tutti::tools::launch {

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Descriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error("make a pipe");
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

void set_nonblocking(const Descriptor& descriptor) {
  fcntl(descriptor.get(), F_SETFL, fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
}

Status open_missing_standard_streams() {
  int fd = 0;
  do {
    fd = open("/dev/null", O_RDWR);
    if (fd < 0) return system_error("open /dev/null");
  } while (fd <= STDERR_FILENO);
  ::close(fd);
  return {};
}

Status allow_open_files(uint64_t needed) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return system_error("read the limit of open files");
  if (limit.rlim_cur >= needed) return {};
  limit.rlim_cur = std::min<rlim_t>(needed, limit.rlim_max);
  if (limit.rlim_cur < needed || setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("so many ranks take {} open files, and {} are allowed: raise the hard "
                             "limit (ulimit -Hn) or start fewer",
                             needed, limit.rlim_max)};
  }
  return {};
}

Error system_error(const std::string& what) {
  return {ErrorCode::kIo, fmt::format("cannot {}: {}", what, std::strerror(errno))};
}

}  // namespace tutti::tools::launch
