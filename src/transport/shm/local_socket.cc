#include "transport/shm/local_socket.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace tutti::transport {
namespace {

// A message header that refers to data and to room for descriptors.
struct Message {
  Message(void* bytes, size_t num_bytes, size_t num_descriptors) : data{bytes, num_bytes} {
    TUTTI_CHECK(num_descriptors <= kMostDescriptors, "there is room for so many");
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(num_descriptors * sizeof(int));
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  iovec data;
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  msghdr header{};
};

}  // namespace

Result<sockaddr_un> local_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the path is too long for a socket: {}", path)};
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

Result<ucred> process_behind(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return Error{ErrorCode::kIo, fmt::format("SO_PEERCRED: {}", std::strerror(errno))};
  }
  return peer;
}

ssize_t send_with(int socket, std::span<const std::byte> data, std::span<const int> descriptors,
                  int flags) {
  // sendmsg only reads what it is given, and has no type for that.
  Message message(const_cast<std::byte*>(data.data()), data.size(), descriptors.size());
  cmsghdr* const rights = CMSG_FIRSTHDR(&message.header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  return sendmsg(socket, &message.header, flags);
}

ssize_t receive_with(int socket, std::span<std::byte> data, std::span<Descriptor> descriptors) {
  Message message(data.data(), data.size(), descriptors.size());
  // Liveness: the caller has looked that something is there, or has set the socket a time limit.
  const ssize_t got = recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC);
  if (got < 0) return got;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message.header); part != nullptr;
       part = CMSG_NXTHDR(&message.header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    int numbers[kMostDescriptors];
    const size_t count = std::min((part->cmsg_len - CMSG_LEN(0)) / sizeof(int), descriptors.size());
    std::memcpy(numbers, CMSG_DATA(part), count * sizeof(int));
    for (size_t i = 0; i < count; ++i) descriptors[i] = Descriptor(numbers[i]);
  }
  return got;
}

}  // namespace tutti::transport
