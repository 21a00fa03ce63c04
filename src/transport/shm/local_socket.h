// Sockets of one host: where they are, who is at the other end, and descriptors that travel with
// bytes.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <cstddef>
#include <span>
#include <string>

#include "transport/shm/shared_memory.h"
#include "tutti/result.h"

namespace tutti::transport {

// kInvalidArgument when the path is too long for a socket.
[[nodiscard]] Result<sockaddr_un> local_address(const std::string& path);
[[nodiscard]] inline const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// The process at the other end, as the kernel knows it. kIo.
[[nodiscard]] Result<ucred> process_behind(int socket);

inline constexpr size_t kMostDescriptors = 3;

// As sendmsg and recvmsg, errno too. Descriptors that do not come are left as they are; more than
// there is room for are closed.
[[nodiscard]] ssize_t send_with(int socket, std::span<const std::byte> data,
                                std::span<const int> descriptors, int flags);
[[nodiscard]] ssize_t receive_with(int socket, std::span<std::byte> data,
                                   std::span<Descriptor> descriptors);

}  // namespace tutti::transport
