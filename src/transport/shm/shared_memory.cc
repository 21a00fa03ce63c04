#include "transport/shm/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tutti::transport {
namespace {

Error failed(const char* what) {
  return {ErrorCode::kIo, fmt::format("shared memory: {}: {}", what, std::strerror(errno))};
}

Result<std::byte*> map(int fd, size_t bytes, int protection) {
  void* const memory = mmap(nullptr, bytes, protection, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (memory == MAP_FAILED) return failed("mmap");
  return static_cast<std::byte*>(memory);
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

Result<SharedMemory> SharedMemory::create(const char* name, size_t bytes, Writers writers) {
  Descriptor fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd.get() < 0) return failed("memfd_create");
  if (fchmod(fd.get(), 0600) != 0) return failed("fchmod");
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return failed("ftruncate");
  auto memory = map(fd.get(), bytes, PROT_READ | PROT_WRITE);
  if (!memory) return std::move(memory.error());
  SharedMemory made(std::move(fd), *memory, bytes);
  const int only_ours = writers == Writers::kMakerOnly ? F_SEAL_FUTURE_WRITE : 0;
  if (fcntl(made.fd(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | only_ours) != 0) {
    return failed("sealing");
  }
  return made;
}

Result<SharedMemory> SharedMemory::open(Descriptor fd, size_t bytes, Writers writers) {
  struct stat facts {};
  if (fstat(fd.get(), &facts) != 0) return failed("fstat");
  const int seals = fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || static_cast<size_t>(facts.st_size) != bytes) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("a peer's shared memory has {} bytes and seals {:#x}; {} bytes that "
                             "cannot shrink were expected",
                             facts.st_size, seals, bytes)};
  }
  const int protection = writers == Writers::kEverybody ? PROT_READ | PROT_WRITE : PROT_READ;
  auto memory = map(fd.get(), bytes, protection);
  if (!memory) return std::move(memory.error());
  return SharedMemory(std::move(fd), *memory, bytes);
}

SharedMemory::~SharedMemory() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

}  // namespace tutti::transport
