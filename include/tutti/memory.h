// Memory for buffers that all ranks of the host read where it lies. A call that sends from ordinary
// memory copies what it sends to where other processes can read it; from this memory it does not.
//
//   auto gradient = tutti::allocate<float>(comm, 1 << 24).value();
//   comm.all_reduce(gradient.span()).wait().value();
//
// Any part of a buffer can be used in any call, on any communicator of the rank, beside ordinary
// memory; other ranks need not use such memory too. Between threads of a process it is ordinary
// memory. A call on more than 64 KiB of it is over when its readers are done, not before.
//
// As with every buffer of a call: keep it until the Work is over. One that is freed too early stays
// where it is until the operations with other ranks that use it are over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "tutti/communicator.h"
#include "tutti/data_type.h"
#include "tutti/result.h"

namespace tutti {

namespace comm {
struct Node;
}

// Bytes, zero at first, at the beginning of a page; of 2 MiB and more at a multiple of 2 MiB, on
// huge pages where the system has them for shared memory. Given back to the system when destroyed.
// Moved, never copied. It may outlive its communicator.
class Memory {
 public:
  Memory() = default;
  Memory(Memory&& other) noexcept
      : node_(std::exchange(other.node_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(node_, other.node_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Memory();

  // Null when there are no bytes.
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  friend Result<Memory> allocate_bytes(const Communicator& comm, uint64_t bytes);

  std::shared_ptr<comm::Node> node_;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

// Any thread; no other rank takes part. kOutOfMemory when the address space for it is spent, which
// is twice the machine's memory.
[[nodiscard]] Result<Memory> allocate_bytes(const Communicator& comm, uint64_t bytes);

// Elements in such memory, zero at first. A contiguous range.
template <Element T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(Memory memory) : memory_(std::move(memory)) {}

  [[nodiscard]] T* data() { return reinterpret_cast<T*>(memory_.data()); }
  [[nodiscard]] const T* data() const { return reinterpret_cast<const T*>(memory_.data()); }
  [[nodiscard]] size_t size() const { return memory_.bytes() / sizeof(T); }
  [[nodiscard]] bool empty() const { return size() == 0; }

  [[nodiscard]] std::span<T> span() { return {data(), size()}; }
  [[nodiscard]] std::span<const T> span() const { return {data(), size()}; }
  [[nodiscard]] T& operator[](size_t i) { return data()[i]; }
  [[nodiscard]] const T& operator[](size_t i) const { return data()[i]; }
  [[nodiscard]] T* begin() { return data(); }
  [[nodiscard]] T* end() { return data() + size(); }
  [[nodiscard]] const T* begin() const { return data(); }
  [[nodiscard]] const T* end() const { return data() + size(); }

 private:
  Memory memory_;
};

template <Element T>
[[nodiscard]] Result<Buffer<T>> allocate(const Communicator& comm, uint64_t elems) {
  // What overflows is more than any address space has.
  const uint64_t bytes = elems > UINT64_MAX / sizeof(T) ? UINT64_MAX : elems * sizeof(T);
  auto memory = allocate_bytes(comm, bytes);
  if (!memory.ok()) return std::move(memory.error());
  return Buffer<T>(*std::move(memory));
}

}  // namespace tutti
