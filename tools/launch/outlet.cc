#include "tools/launch/outlet.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace tutti::tools::launch {
namespace {

// O_NONBLOCK belongs to the open file, which is shared with whoever gave it to us (a shell would
// find its terminal non-blocking), so the file is opened anew. Not a regular file: it never blocks,
// and a new opening would have a position of its own.
Descriptor open_again_nonblocking(int fd) {
  const std::string path = fmt::format("/proc/self/fd/{}", fd);
  return Descriptor(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

}  // namespace

Outlet::Outlet(int fd, std::vector<std::string> prefixes) : fd_(fd), merger_(std::move(prefixes)) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return;
  if (S_ISREG(status.st_mode)) kind_ = Kind::kFile;
  if (S_ISSOCK(status.st_mode)) kind_ = Kind::kSocket;
  if (!S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode)) return;
  own_ = open_again_nonblocking(fd);
  if (own_.is_open()) kind_ = Kind::kReopened;
}

void Outlet::add(size_t source, std::string_view piece) {
  if (!closed_) merger_.add(source, piece, pending_);
}

void Outlet::abandon() {
  closed_ = true;
  pending_.clear();
  num_written_ = 0;
}

long Outlet::write_some(std::string_view bytes) const {
  switch (kind_) {
    case Kind::kReopened:
    case Kind::kFile: return ::write(fd(), bytes.data(), bytes.size());
    case Kind::kSocket: return send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    case Kind::kOther: break;
  }
  // Could not be opened again (another user's terminal, no /proc). A pipe that is ready takes
  // PIPE_BUF bytes without blocking, and a terminal nearly always.
  pollfd ready{fd_, POLLOUT, 0};
  // Liveness: does not wait (timeout 0).
  if (poll(&ready, 1, 0) == 0) {
    errno = EAGAIN;
    return -1;
  }
  return ::write(fd_, bytes.data(), std::min<size_t>(bytes.size(), PIPE_BUF));
}

void Outlet::flush() {
  while (!is_drained()) {
    const long written = write_some(std::string_view(pending_).substr(num_written_));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) break;
    if (written < 0) {
      failure_ = errno;
      return abandon();
    }
    num_written_ += static_cast<size_t>(written);
  }
  // Moving the rest to the front costs as much as it frees, so not for every few bytes.
  if (is_drained() || num_written_ > pending_.size() / 2) {
    pending_.erase(0, num_written_);
    num_written_ = 0;
  }
}

bool same_file(int fd, int other) {
  struct stat a {};
  struct stat b {};
  return fstat(fd, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

}  // namespace tutti::tools::launch
