#include "transport/heap_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

namespace tutti::transport {
namespace {

constexpr size_t kHeapBytes = 4 * kHugePageBytes;

uint64_t file_bytes(const Descriptor& file) {
  struct stat facts {};
  EXPECT_EQ(fstat(file.get(), &facts), 0);
  return static_cast<uint64_t>(facts.st_blocks) * 512;
}

TEST(HeapMemory, LiesAtAHugePageWhereverItIsMapped) {
  const auto own = HeapMemory::create(kHeapBytes).value();
  const auto theirs = HeapMemory::open(own->reader().value()).value();
  const auto ordinary = HeapMemory::ordinary(kHeapBytes);
  for (HeapMemory* const heap : {own.get(), theirs.get(), ordinary.get()}) {
    EXPECT_EQ(heap->bytes(), kHeapBytes);
    const std::byte* const base = heap->map().value();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(base) % kHugePageBytes, 0u);
    EXPECT_EQ(heap->map().value(), base);
  }
}

TEST(HeapMemory, ContainsOnlyWhatIsMapped) {
  const auto heap = HeapMemory::ordinary(kHeapBytes);
  int outside = 0;
  EXPECT_FALSE(heap->contains(&outside, 0));
  EXPECT_FALSE(heap->contains(nullptr, 0));
  std::byte* const base = heap->map().value();
  EXPECT_TRUE(heap->contains(base, kHeapBytes));
  EXPECT_TRUE(heap->contains(base + 5, kHeapBytes - 5));
  EXPECT_FALSE(heap->contains(base + 5, kHeapBytes - 4));
  EXPECT_FALSE(heap->contains(base - 1, 1));
  EXPECT_FALSE(heap->contains(&outside, 1));
}

TEST(HeapMemory, CannotBeWrittenByWhoReadsIt) {
  const auto own = HeapMemory::create(kHeapBytes).value();
  const Descriptor reader = own->reader().value();
  EXPECT_EQ(mmap(nullptr, kHeapBytes, PROT_READ | PROT_WRITE, MAP_SHARED, reader.get(), 0),
            MAP_FAILED);
}

TEST(HeapMemory, RefusesAFileThatCouldShrink) {
  Descriptor file(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(HeapMemory::open(std::move(file)).error().code, ErrorCode::kMalformed);
}

TEST(HeapMemory, GivesPagesBackAndHasZerosThere) {
  const auto own = HeapMemory::create(kHeapBytes).value();
  const Descriptor reader = own->reader().value();
  const auto ordinary = HeapMemory::ordinary(kHeapBytes);
  for (HeapMemory* const heap : {own.get(), ordinary.get()}) {
    constexpr size_t kHalf = kHeapBytes / 2;
    std::byte* const first = heap->allocate(kHalf).value();
    std::byte* const second = heap->allocate(kHalf - 5).value();
    std::fill_n(first, kHalf, std::byte{7});
    std::fill_n(second, kHalf - 5, std::byte{7});
    EXPECT_EQ(heap->used(), kHeapBytes);
    EXPECT_EQ(heap->allocate(1).error().code, ErrorCode::kOutOfMemory);
    heap->free(first, kHalf);
    EXPECT_EQ(heap->used(), kHalf);
    EXPECT_EQ(std::count(second, second + kHalf - 5, std::byte{7}), kHalf - 5);
    if (heap == own.get()) {
      EXPECT_LE(file_bytes(reader), kHalf);
    }
    EXPECT_EQ(heap->allocate(kHalf).value(), first);
    EXPECT_EQ(std::count(first, first + kHalf, std::byte{0}), kHalf);
  }
}

}  // namespace
}  // namespace tutti::transport
