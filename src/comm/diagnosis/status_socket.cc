#include "comm/diagnosis/status_socket.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/try.h"
#include "transport/shm/local_socket.h"

namespace tutti::comm {
namespace {

using transport::Descriptor;

// Begins an answer; as many boards follow. A rank without one has published_ns 0.
struct Head {
  uint64_t magic = kMagic;
  uint64_t board_bytes = sizeof(Board);
  uint64_t now_ns = 0;
  uint64_t num_ranks = 0;

  static constexpr uint64_t kMagic = 0x3130'7461'7473'7475u;  // "utstat01"
};

constexpr uint64_t kMostRanks = 4096;

Error failed(const std::string& path, const char* what) {
  return {ErrorCode::kIo, fmt::format("{}: {}: {}", path, what, std::strerror(errno))};
}

bool is_same_user(int socket) {
  const auto who = transport::process_behind(socket);
  return who && who->uid == geteuid();
}

bool write_all(int fd, const void* data, size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(fd, at, bytes);
    if (written <= 0) return false;
    at += written;
    bytes -= static_cast<size_t>(written);
  }
  return true;
}

// The answer, in memory that the reader may keep and we forget.
Descriptor make_answer(const transport::Endpoint& endpoint) {
  Descriptor memory(memfd_create("tutti-status", MFD_CLOEXEC));
  Head head;
  head.now_ns = base::now_ns();
  head.num_ranks = endpoint.num_ranks();
  bool is_whole = memory.get() >= 0 && write_all(memory.get(), &head, sizeof head);
  for (uint32_t rank = 0; is_whole && rank < endpoint.num_ranks(); ++rank) {
    const Board board = read_board(endpoint.board(Rank{rank})).value_or(Board{});
    is_whole = write_all(memory.get(), &board, sizeof board);
  }
  return is_whole ? std::move(memory) : Descriptor();
}

// A byte goes with the descriptor: a message cannot be empty.
void send_descriptor(int socket, int fd) {
  const std::byte byte{};
  // It fits into a new connection; if the reader is gone there is nobody to tell.
  (void)transport::send_with(socket, {&byte, 1}, {&fd, 1}, MSG_NOSIGNAL | MSG_DONTWAIT);
}

Result<Descriptor> receive_descriptor(int socket, const std::string& path) {
  std::byte byte{};
  Descriptor received;
  // Liveness: the socket's own time limit, set by ask_rank.
  const ssize_t got = transport::receive_with(socket, {&byte, 1}, {&received, 1});
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    return Error{ErrorCode::kDeadline, fmt::format("{}: the rank does not answer", path)};
  }
  if (got < 0) return failed(path, "recvmsg");
  if (received.get() < 0) {
    return Error{ErrorCode::kNotFound, fmt::format("{}: the rank went away", path)};
  }
  return received;
}

bool read_at(int fd, void* data, size_t bytes, size_t offset) {
  return pread(fd, data, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

Result<JobBoards> read_answer(int fd, const std::string& path) {
  Head head;
  const bool is_ours = read_at(fd, &head, sizeof head, 0) && head.magic == Head::kMagic &&
                       head.board_bytes == sizeof(Board) && head.num_ranks <= kMostRanks;
  if (!is_ours) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("{}: the job runs another version of tutti", path)};
  }
  JobBoards job;
  job.now_ns = head.now_ns;
  for (uint64_t rank = 0; rank < head.num_ranks; ++rank) {
    Board board;
    if (!read_at(fd, &board, sizeof board, sizeof head + rank * sizeof board)) {
      return Error{ErrorCode::kMalformed, fmt::format("{}: the answer is cut off", path)};
    }
    clean(board);
    job.boards.push_back(board.published_ns == 0 ? std::nullopt : std::optional(board));
  }
  return job;
}

}  // namespace

std::string status_socket_path(const std::string& job_dir, uint32_t rank) {
  return fmt::format("{}/status.{}", job_dir, rank);
}

Result<StatusServer> StatusServer::open(const std::string& job_dir,
                                        const transport::Endpoint& endpoint) {
  const std::string path = status_socket_path(job_dir, endpoint.self().value);
  TUTTI_ASSIGN(const sockaddr_un address, transport::local_address(path));
  Descriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return failed(path, "socket");
  unlink(path.c_str());  // of an earlier run with the same job id
  if (bind(fd.get(), transport::generic(address), sizeof address) != 0) return failed(path, "bind");
  StatusServer server(std::move(fd), path, endpoint);
  // Nobody can connect before it listens.
  if (chmod(path.c_str(), 0600) != 0) return failed(path, "chmod");
  constexpr int kBacklog = 16;
  if (listen(server.fd(), kBacklog) != 0) return failed(path, "listen");
  return server;
}

StatusServer::~StatusServer() {
  if (socket_.get() >= 0) unlink(path_.c_str());
}

void StatusServer::answer() const {
  const Descriptor guest(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (guest.get() < 0 || !is_same_user(guest.get())) return;
  const Descriptor memory = make_answer(*endpoint_);
  if (memory.get() >= 0) send_descriptor(guest.get(), memory.get());
}

Result<JobBoards> ask_rank(const std::string& socket_path, uint32_t timeout_ms) {
  TUTTI_ASSIGN(const sockaddr_un address, transport::local_address(socket_path));
  const Descriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return failed(socket_path, "socket");
  const timeval limit{timeout_ms / 1000, static_cast<suseconds_t>(timeout_ms % 1000) * 1000};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // connecting, too
  if (connect(fd.get(), transport::generic(address), sizeof address) != 0) {
    return Error{errno == EAGAIN ? ErrorCode::kDeadline : ErrorCode::kNotFound,
                 fmt::format("{}: {}", socket_path, std::strerror(errno))};
  }
  TUTTI_ASSIGN(const Descriptor answer, receive_descriptor(fd.get(), socket_path));
  return read_answer(answer.get(), socket_path);
}

}  // namespace tutti::comm
