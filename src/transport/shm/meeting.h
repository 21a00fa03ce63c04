// The socket on which the ranks of a job meet: records of fixed size, each with descriptors.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "transport/shm/remark.h"
#include "transport/shm/shared_memory.h"
#include "tutti/result.h"

namespace tutti::transport {

// What a rank says of itself. Its process id is taken from the kernel where it comes in.
struct Introduction {
  uint64_t magic = kMagic;
  uint64_t job = 0;  // a hash of the job's id
  uint32_t rank = 0;
  uint32_t num_ranks = 0;
  int32_t process = 0;
  uint32_t unused = 0;
  Remark remark = {};
  // Where in its process kMagic is, for others to try whether they can read it.
  uint64_t magic_at = 0;

  static constexpr uint64_t kMagic = 0x3230'6974'7475'74u;  // "tutti02"
};
static_assert(sizeof(Introduction) == 40 + sizeof(Remark));

struct Introduced {
  Introduction introduction;
  Descriptor segment;
  Descriptor bell;
  Descriptor heap;  // for reading
};

// Both ends wait at most until the deadline (base/clock.h).

// A socket that accepts connections at the path, which must not exist; removed again at the end.
class Listener {
 public:
  static Result<Listener> open(std::string path);
  ~Listener();
  Listener(Listener&&) = default;
  Listener& operator=(Listener&&) = delete;

  // The next connection of a process of the same user; others are turned away. kDeadline.
  [[nodiscard]] Result<Descriptor> accept(uint64_t deadline_ns) const;

 private:
  Listener(Descriptor socket, std::string path)
      : socket_(std::move(socket)), path_(std::move(path)) {}

  Descriptor socket_;
  std::string path_;
};

// Tries until somebody listens there.
[[nodiscard]] Result<Descriptor> connect_to(const std::string& path, uint64_t deadline_ns);

[[nodiscard]] Status send_introduction(int socket, const Introduced& introduced);
// The process is the one that is written there: who relays introductions has asked the kernel.
[[nodiscard]] Result<Introduced> receive_introduction(int socket, uint64_t deadline_ns);
// The process at the other end.
[[nodiscard]] Result<int> process_at(int socket);

}  // namespace tutti::transport
