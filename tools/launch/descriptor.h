// A file descriptor with an owner. Everything opened here is close-on-exec: a rank gets its three
// standard streams and what the launcher itself was given, nothing of the launcher's own.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "tutti/result.h"

namespace tutti::tools::launch {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

[[nodiscard]] Result<Pipe> make_pipe();
// Reads and writes then return EAGAIN instead of blocking. Only for what nobody else shares.
void set_nonblocking(const Descriptor& descriptor);
// So that none of our own ends up as a standard stream: opens /dev/null for each that is closed.
[[nodiscard]] Status open_missing_standard_streams();
// Room for `needed` open files, or an error that says how to get it.
[[nodiscard]] Status allow_open_files(uint64_t needed);

// "cannot WHAT: the reason in errno".
[[nodiscard]] Error system_error(const std::string& what);

}  // namespace tutti::tools::launch
