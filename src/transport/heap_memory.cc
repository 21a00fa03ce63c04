#include "transport/heap_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/try.h"

namespace tutti::transport {
namespace {

// Of the 128 TiB that a process has on x86-64; smaller spaces fail when they are mapped, and only
// for who asks.
constexpr size_t kAllRanksBytes = size_t{32} << 40;

Error heap_failed(const char* what) {
  return {ErrorCode::kIo,
          fmt::format("memory for shared buffers: {}: {}", what, std::strerror(errno))};
}

size_t grain_of(uint64_t bytes) {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes >= kHugePageBytes ? kHugePageBytes : page;
}

// Whole pages, so that they can be given back.
size_t block_bytes(uint64_t bytes) {
  const size_t grain = grain_of(bytes);
  return (bytes + grain - 1) / grain * grain;
}

size_t in_huge_pages(size_t bytes) { return (bytes + kHugePageBytes - 1) & ~(kHugePageBytes - 1); }

}  // namespace

size_t heap_bytes_for(uint32_t num_ranks) {
  const size_t machine =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return in_huge_pages(std::min(2 * machine, kAllRanksBytes / num_ranks));
}

std::unique_ptr<HeapMemory> HeapMemory::ordinary(size_t bytes) {
  return std::unique_ptr<HeapMemory>(new HeapMemory(Descriptor(), bytes, PROT_READ | PROT_WRITE));
}

Result<std::unique_ptr<HeapMemory>> HeapMemory::create(size_t bytes) {
  Descriptor file(memfd_create("tutti-buffers", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.get() < 0) return heap_failed("memfd_create");
  if (fchmod(file.get(), 0600) != 0) return heap_failed("fchmod");
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return heap_failed("ftruncate");
  // Not sealed against writing, as segments are: the system would then not take pages back.
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return heap_failed("sealing");
  }
  return std::unique_ptr<HeapMemory>(
      new HeapMemory(std::move(file), bytes, PROT_READ | PROT_WRITE));
}

Result<std::unique_ptr<HeapMemory>> HeapMemory::open(Descriptor file) {
  struct stat facts {};
  if (fstat(file.get(), &facts) != 0) return heap_failed("fstat");
  const int seals = fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return Error{
        ErrorCode::kMalformed,
        fmt::format("a peer's memory for buffers has seals {:#x}: it could shrink", seals)};
  }
  return std::unique_ptr<HeapMemory>(
      new HeapMemory(std::move(file), static_cast<size_t>(facts.st_size), PROT_READ));
}

HeapMemory::~HeapMemory() {
  if (std::byte* const base = base_.load(std::memory_order_relaxed)) munmap(base, bytes_);
}

Result<Descriptor> HeapMemory::reader() const {
  Descriptor reader(
      ::open(fmt::format("/proc/self/fd/{}", file_.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (reader.get() < 0) return heap_failed("opening it for reading");
  return reader;
}

Result<std::byte*> HeapMemory::map() {
  if (std::byte* const base = base_.load(std::memory_order_acquire)) return base;
  const std::lock_guard lock(mutex_);
  if (std::byte* const base = base_.load(std::memory_order_relaxed)) return base;
  const auto refused = [&] {
    return Error{ErrorCode::kOutOfMemory,
                 fmt::format("cannot map {} bytes of address space for shared buffers: {} (see "
                             "ulimit -v)",
                             bytes_, std::strerror(errno))};
  };
  // More than needed, of which a part begins where a huge page can.
  const size_t reserved = bytes_ + kHugePageBytes;
  void* const space =
      mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return refused();
  auto* const first = static_cast<std::byte*>(space);
  const size_t before =
      in_huge_pages(reinterpret_cast<uintptr_t>(first)) - reinterpret_cast<uintptr_t>(first);
  const int kind = is_file() ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* const memory =
      mmap(first + before, bytes_, protection_, kind | MAP_NORESERVE | MAP_FIXED, file_.get(), 0);
  if (memory == MAP_FAILED) {
    Error error = refused();
    munmap(space, reserved);
    return error;
  }
  if (before != 0) munmap(first, before);
  munmap(first + before + bytes_, kHugePageBytes - before);
  madvise(memory, bytes_, MADV_HUGEPAGE);  // where the system has none, it is all the same
  // Pairs with the acquires of base_.
  base_.store(static_cast<std::byte*>(memory), std::memory_order_release);
  return static_cast<std::byte*>(memory);
}

ssize_t HeapMemory::read(std::byte* to, uint64_t offset, size_t bytes) const {
  return pread(file_.get(), to, bytes, static_cast<off_t>(offset));
}

Result<std::byte*> HeapMemory::allocate(uint64_t bytes) {
  TUTTI_ASSIGN(std::byte* const base, map());
  const bool can_be = bytes <= bytes_;
  const std::lock_guard lock(mutex_);
  const auto offset = can_be ? ranges_.take(block_bytes(bytes), grain_of(bytes)) : std::nullopt;
  if (!offset) {
    return Error{ErrorCode::kOutOfMemory,
                 fmt::format("there are no {} bytes left for a shared buffer: {} of {} are in use",
                             bytes, used(), bytes_)};
  }
  used_.fetch_add(block_bytes(bytes), std::memory_order_relaxed);
  return base + *offset;
}

void HeapMemory::free(std::byte* block, uint64_t bytes) {
  give_back(block, block_bytes(bytes));
  const std::lock_guard lock(mutex_);
  ranges_.give(offset_of(block), block_bytes(bytes));
  used_.fetch_sub(block_bytes(bytes), std::memory_order_relaxed);
}

void HeapMemory::give_back(std::byte* memory, size_t bytes) const {
  if (madvise(memory, bytes, is_file() ? MADV_REMOVE : MADV_DONTNEED) == 0) return;
  std::memset(memory, 0, bytes);
}

}  // namespace tutti::transport
