#include "transport/shm/meeting.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/try.h"

namespace tutti::transport {
namespace {

Error failed(const char* what) {
  return {ErrorCode::kIo,
          fmt::format("meeting the other ranks: {}: {}", what, std::strerror(errno))};
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the job's directory has too long a path for a socket: {}", path)};
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

Status wait_readable(int socket, uint64_t deadline_ns) {
  // Liveness: ends when the peer connects, sends or goes away, and at the deadline.
  while (true) {
    const uint64_t now = base::now_ns();
    if (now >= deadline_ns) return Error{ErrorCode::kDeadline, "the other ranks did not come"};
    const uint64_t left_ms = (deadline_ns - now) / 1'000'000 + 1;
    pollfd waited{socket, POLLIN, 0};
    const int ready = poll(&waited, 1, static_cast<int>(std::min<uint64_t>(left_ms, 1000)));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return failed("poll");
  }
}

Result<ucred> credentials_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return failed("SO_PEERCRED");
  return peer;
}

}  // namespace

Result<Listener> Listener::open(std::string path) {
  TUTTI_ASSIGN(const sockaddr_un address, address_of(path));
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return failed("socket");
  const auto* const raw = reinterpret_cast<const sockaddr*>(&address);
  if (bind(socket.get(), raw, sizeof address) != 0) return failed(path.c_str());
  Listener listener(std::move(socket), std::move(path));
  if (chmod(listener.path_.c_str(), 0600) != 0) return failed("chmod");
  if (listen(listener.socket_.get(), SOMAXCONN) != 0) return failed("listen");
  return listener;
}

Listener::~Listener() {
  if (socket_.get() >= 0) unlink(path_.c_str());
}

Result<Descriptor> Listener::accept(uint64_t deadline_ns) const {
  // Liveness: a rank comes, or the deadline does.
  while (true) {
    TUTTI_TRY(wait_readable(socket_.get(), deadline_ns));
    Descriptor peer(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (peer.get() < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return failed("accept");
    }
    TUTTI_ASSIGN(const ucred who, credentials_of(peer.get()));
    if (who.uid == geteuid()) return peer;
  }
}

Result<Descriptor> connect_to(const std::string& path, uint64_t deadline_ns) {
  TUTTI_ASSIGN(const sockaddr_un address, address_of(path));
  const auto* const raw = reinterpret_cast<const sockaddr*>(&address);
  // Liveness: rank 0 listens when it starts; the deadline ends it if it does not.
  while (true) {
    Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (socket.get() < 0) return failed("socket");
    if (connect(socket.get(), raw, sizeof address) == 0) {
      TUTTI_ASSIGN(const ucred who, credentials_of(socket.get()));
      if (who.uid == geteuid()) return socket;
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{} belongs to user {}, not to us", path, who.uid)};
    }
    const bool not_yet = errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN;
    if (!not_yet && errno != EINTR) return failed(path.c_str());
    if (base::now_ns() >= deadline_ns) {
      return Error{ErrorCode::kDeadline, "rank 0 did not come: nobody listens at " + path};
    }
    const timespec nap{0, 500'000};
    // Liveness: a nap of half a millisecond.
    nanosleep(&nap, nullptr);
  }
}

Status send_introduction(int socket, const Introduction& introduction, int segment, int bell) {
  Introduction copy = introduction;
  iovec data{&copy, sizeof copy};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(2 * sizeof(int));
  const int fds[2] = {segment, bell};
  std::memcpy(CMSG_DATA(rights), fds, sizeof fds);
  // Liveness: a record that the peer takes as soon as it has come this far; a peer that died makes
  // it fail.
  while (sendmsg(socket, &message, MSG_NOSIGNAL) != sizeof copy) {
    if (errno != EINTR) return failed("sendmsg");
  }
  return {};
}

Result<Introduced> receive_introduction(int socket, uint64_t deadline_ns) {
  TUTTI_TRY(wait_readable(socket, deadline_ns));
  Introduced introduced;
  iovec data{&introduced.introduction, sizeof introduced.introduction};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (got < 0) return failed("recvmsg");
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    int fds[2] = {-1, -1};
    std::memcpy(fds, CMSG_DATA(part), std::min<size_t>(count, 2) * sizeof(int));
    introduced.segment = Descriptor(fds[0]);
    introduced.bell = Descriptor(fds[1]);
  }
  const bool whole = got == sizeof introduced.introduction && introduced.bell.get() >= 0 &&
                     introduced.introduction.magic == Introduction::kMagic;
  if (!whole) {
    return Error{got == 0 ? ErrorCode::kPeerLost : ErrorCode::kMalformed,
                 got == 0 ? "a rank went away while the job was meeting"
                          : "what came from a rank of the job is not an introduction"};
  }
  return introduced;
}

Result<int> process_at(int socket) {
  TUTTI_ASSIGN(const ucred who, credentials_of(socket));
  return who.pid;
}

}  // namespace tutti::transport
