// How `tutti status` looks into a running job. Every rank listens on a socket of its own in the
// job's directory (status.RANK, mode 0600) and answers whoever connects, if it is the same user,
// with the boards of all ranks in memory that it hands over: an answer never waits for its reader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/diagnosis/board.h"
#include "transport/endpoint.h"
#include "transport/shm/shared_memory.h"
#include "tutti/result.h"

namespace tutti::comm {

[[nodiscard]] std::string status_socket_path(const std::string& job_dir, uint32_t rank);

class StatusServer {
 public:
  // Not there already. The endpoint outlives it.
  static Result<StatusServer> open(const std::string& job_dir, const transport::Endpoint& endpoint);
  ~StatusServer();
  StatusServer(StatusServer&&) = default;
  StatusServer& operator=(StatusServer&&) = delete;

  // Readable when somebody has connected: then call answer, which does not wait.
  [[nodiscard]] int fd() const { return socket_.get(); }
  void answer() const;

 private:
  StatusServer(transport::Descriptor socket, std::string path, const transport::Endpoint& endpoint)
      : socket_(std::move(socket)), path_(std::move(path)), endpoint_(&endpoint) {}

  transport::Descriptor socket_;
  std::string path_;
  const transport::Endpoint* endpoint_;
};

// The boards of a job, by rank.
struct JobBoards {
  uint64_t now_ns = 0;  // when they were read
  std::vector<std::optional<Board>> boards;
};

// Asks the rank that listens there. kNotFound when nobody does, kDeadline when it does not answer
// within `timeout_ms`: a stopped process.
[[nodiscard]] Result<JobBoards> ask_rank(const std::string& socket_path, uint32_t timeout_ms);

}  // namespace tutti::comm
