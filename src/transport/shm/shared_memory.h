// Memory that processes share by descriptor, without a name anywhere: nothing to unlink, nothing
// left behind. Sealed once made: it cannot shrink under a reader, and where the maker alone writes,
// nobody else can map it for writing.
#pragma once

#include <cstddef>
#include <utility>

#include "tutti/result.h"

namespace tutti::transport {

// Closes what it holds.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();

  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_ = -1;
};

enum class Writers { kMakerOnly, kEverybody };

class SharedMemory {
 public:
  // Pages come when used.
  static Result<SharedMemory> create(const char* name, size_t bytes, Writers writers);
  // What another process made, as this process received it. kMalformed when it is not of that
  // size or could shrink.
  static Result<SharedMemory> open(Descriptor fd, size_t bytes, Writers writers);

  SharedMemory(SharedMemory&& other) noexcept
      : fd_(std::move(other.fd_)),
        memory_(std::exchange(other.memory_, nullptr)),
        bytes_(other.bytes_) {}
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  [[nodiscard]] std::byte* data() const { return memory_; }
  [[nodiscard]] size_t bytes() const { return bytes_; }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  SharedMemory(Descriptor fd, std::byte* memory, size_t bytes)
      : fd_(std::move(fd)), memory_(memory), bytes_(bytes) {}

  Descriptor fd_;
  std::byte* memory_;
  size_t bytes_;
};

}  // namespace tutti::transport
