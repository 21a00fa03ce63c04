// What ranks tell each other through rings: that an operation was issued, with which signature, and
// (when it is small) the message itself. Fixed size, so that whoever reads it trusts no length.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tutti::transport {

inline constexpr size_t kRecordBytes = 512;

enum class RecordKind : uint8_t {
  kPacket = 1,  // a message with its data: the payload
  kHello = 2,   // the sender has issued the operation; the payload says where its memory is
  kFailed = 3,  // the operation cannot complete; the payload says why
  kAbort = 4,   // `operation` is a communicator: all operations on it are over
  kWide = 5,    // a packet whose data lies beside the ring
};

// What must be the same on every rank of an operation. Travels with everything that is said about
// it, so that a mismatch is found by whoever hears it first.
struct Signature {
  uint64_t count = 0;  // elements, as the caller gave them; of uneven calls, a digest of all counts
  uint32_t root = 0;
  uint8_t collective = 0;
  uint8_t type = 0;
  uint8_t op = 0;
  uint8_t uneven = 0;

  friend bool operator==(const Signature&, const Signature&) = default;
};
static_assert(sizeof(Signature) == 16);

struct RecordHeader {
  uint64_t operation = 0;  // its number, equal on all ranks: engine/operation_id.h
  Signature signature;
  uint32_t message = 0;     // packet: its number on the connection; hello: engine/task_queue.h
  uint16_t connection = 0;  // packet: the receiver's number of the connection
  uint16_t bytes = 0;       // of the payload
};
static_assert(sizeof(RecordHeader) == 32 && std::is_trivially_copyable_v<RecordHeader>);

// The most that a record itself carries.
inline constexpr size_t kMaxPayload = kRecordBytes - sizeof(uint64_t) - sizeof(RecordHeader);

struct Record {
  RecordHeader header;
  std::array<std::byte, kMaxPayload> payload;
};
static_assert(sizeof(Record) == kRecordBytes - sizeof(uint64_t));
static_assert(kMaxPayload == 472, "24 bytes of it share the cache line of stamp and header");

// The most that a packet carries, beside the ring.
inline constexpr size_t kWideBytes = size_t{8} * 1024;

[[nodiscard]] constexpr size_t most_payload(RecordKind kind) {
  return kind == RecordKind::kWide ? kWideBytes : kMaxPayload;
}

}  // namespace tutti::transport
