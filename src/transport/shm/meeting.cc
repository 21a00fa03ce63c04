#include "transport/shm/meeting.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/try.h"
#include "transport/shm/local_socket.h"

namespace tutti::transport {
namespace {

Error meeting_failed(const char* what) {
  return {ErrorCode::kIo,
          fmt::format("meeting the other ranks: {}: {}", what, std::strerror(errno))};
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
    if (ready < 0 && errno != EINTR) return meeting_failed("poll");
  }
}

}  // namespace

Result<Listener> Listener::open(std::string path) {
  TUTTI_ASSIGN(const sockaddr_un address, local_address(path));
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return meeting_failed("socket");
  if (bind(socket.get(), generic(address), sizeof address) != 0)
    return meeting_failed(path.c_str());
  Listener listener(std::move(socket), std::move(path));
  if (chmod(listener.path_.c_str(), 0600) != 0) return meeting_failed("chmod");
  if (listen(listener.socket_.get(), SOMAXCONN) != 0) return meeting_failed("listen");
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
      return meeting_failed("accept");
    }
    TUTTI_ASSIGN(const ucred who, process_behind(peer.get()));
    if (who.uid == geteuid()) return peer;
  }
}

Result<Descriptor> connect_to(const std::string& path, uint64_t deadline_ns) {
  TUTTI_ASSIGN(const sockaddr_un address, local_address(path));
  // Liveness: rank 0 listens when it starts; the deadline ends it if it does not.
  while (true) {
    Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (socket.get() < 0) return meeting_failed("socket");
    if (connect(socket.get(), generic(address), sizeof address) == 0) {
      TUTTI_ASSIGN(const ucred who, process_behind(socket.get()));
      if (who.uid == geteuid()) return socket;
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{} belongs to user {}, not to us", path, who.uid)};
    }
    const bool not_yet = errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN;
    if (!not_yet && errno != EINTR) return meeting_failed(path.c_str());
    if (base::now_ns() >= deadline_ns) {
      return Error{ErrorCode::kDeadline, "rank 0 did not come: nobody listens at " + path};
    }
    const timespec nap{0, 500'000};
    // Liveness: a nap of half a millisecond.
    nanosleep(&nap, nullptr);
  }
}

Status send_introduction(int socket, const Introduced& introduced) {
  const Introduction& introduction = introduced.introduction;
  const int descriptors[] = {introduced.segment.get(), introduced.bell.get(),
                             introduced.heap.get()};
  // Liveness: a record that the peer takes as soon as it has come this far; a peer that died makes
  // it fail.
  while (send_with(socket, std::as_bytes(std::span(&introduction, 1)), descriptors, MSG_NOSIGNAL) !=
         sizeof introduction) {
    if (errno != EINTR) return meeting_failed("sendmsg");
  }
  return {};
}

Result<Introduced> receive_introduction(int socket, uint64_t deadline_ns) {
  TUTTI_TRY(wait_readable(socket, deadline_ns));
  Introduced introduced;
  Descriptor descriptors[3];
  const ssize_t got = receive_with(
      socket, std::as_writable_bytes(std::span(&introduced.introduction, 1)), descriptors);
  if (got < 0) return meeting_failed("recvmsg");
  introduced.segment = std::move(descriptors[0]);
  introduced.bell = std::move(descriptors[1]);
  introduced.heap = std::move(descriptors[2]);
  const bool whole = got == sizeof introduced.introduction && introduced.heap.get() >= 0 &&
                     introduced.introduction.magic == Introduction::kMagic;
  if (!whole) {
    return Error{got == 0 ? ErrorCode::kPeerLost : ErrorCode::kMalformed,
                 got == 0 ? "a rank went away while the job was meeting"
                          : "what came from a rank of the job is not an introduction"};
  }
  return introduced;
}

Result<int> process_at(int socket) {
  TUTTI_ASSIGN(const ucred who, process_behind(socket));
  return who.pid;
}

}  // namespace tutti::transport
