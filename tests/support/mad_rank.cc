#include "tests/support/mad_rank.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "engine/cpu/hello.h"
#include "transport/memory.h"
#include "transport/ring.h"

namespace tutti::test {

using transport::Record;
using transport::RecordKind;
using transport::RemoteAddress;

MadRank::MadRank(Cluster& cluster, uint32_t rank, Reach reach, std::mt19937_64& random)
    : cluster_(cluster), rank_(rank), reach_(reach), random_(random) {}

void MadRank::learn(const engine::Request& request) {
  known_.push_back({request.id, request.signature});
  addresses_.push_back(reinterpret_cast<uint64_t>(request.input));
  addresses_.push_back(reinterpret_cast<uint64_t>(request.output));
}

void MadRank::act() {
  if (below(2) == 0) {
    scribble();
  } else {
    forge_record();
  }
}

uint32_t MadRank::some_victim() {
  const auto other = static_cast<uint32_t>(below(cluster_.num_ranks() - 1));
  return other < rank_ ? other : other + 1;
}

uint64_t MadRank::some_value() {
  const uint64_t segment = cluster_.segment(rank_).size();
  const uint64_t extreme[] = {0,
                              1,
                              2,
                              0xff,
                              0xffff,
                              UINT32_MAX,
                              UINT64_MAX,
                              UINT64_MAX - 7,
                              uint64_t{1} << 63,
                              segment,
                              segment - 8,
                              segment + 1};
  switch (below(4)) {
    case 0: return random_();
    case 1: return below(200);
    case 2: return known_.empty() ? 0 : known_[below(known_.size())].id;
    default: return extreme[below(std::size(extreme))];
  }
}

// Threads believe addresses that they name to each other, since they could write each other's
// memory anyhow; so where ranks are threads no record is touched that may name one.
size_t MadRank::some_place() {
  const transport::SegmentLayout layout{cluster_.num_ranks()};
  transport::Endpoint& endpoint = cluster_.engine(rank_).endpoint();
  const size_t words = layout.arena();
  const size_t arena = words + (cluster_.segment(rank_).size() - words) / 16 / 64 * 64;
  const uint32_t victim = some_victim();
  const auto within = [&](size_t begin, size_t bytes) {
    return begin + below(std::max<size_t>(bytes, 8) / 8) * 8;
  };
  switch (below(reach_ == Reach::kThreads ? 5 : 8)) {
    case 0: return layout.receipt(victim);
    case 1: return within(layout.board(), transport::kBoardBytes);
    case 2: return within(words, endpoint.words().touched());
    case 3: return within(arena, endpoint.arena().touched());
    case 4:
      return within(layout.wide_slots(), layout.num_wide_slots() * sizeof(transport::WideSlot));
    // A slot: its stamp, its header, its payload.
    case 5: return layout.ring(victim) + below(transport::kRingSlots) * transport::kRecordBytes;
    case 6:
      return within(layout.ring(victim) + below(transport::kRingSlots) * transport::kRecordBytes,
                    64);
    default: return within(layout.ring(victim), sizeof(transport::RingMemory));
  }
}

void MadRank::scribble() {
  std::byte* const place = cluster_.segment(rank_).data() + some_place();
  auto* const word = reinterpret_cast<std::atomic<uint64_t>*>(place);
  if (below(3) != 0) {
    word->store(some_value());
  } else {
    word->store(word->load() ^ uint64_t{1} << below(64));
  }
}

RecordKind MadRank::some_kind() {
  if (below(8) == 0) return static_cast<RecordKind>(below(256));
  const RecordKind kinds[] = {RecordKind::kPacket, RecordKind::kPacket, RecordKind::kHello,
                              RecordKind::kHello,  RecordKind::kFailed, RecordKind::kAbort};
  return kinds[below(std::size(kinds))];
}

void MadRank::forge_record() {
  transport::RingWriter& ring = cluster_.engine(rank_).endpoint().to(Rank{some_victim()});
  Record* const record = ring.reserve();
  if (record == nullptr) return;
  RecordKind kind = some_kind();
  if (reach_ == Reach::kThreads && kind == RecordKind::kHello) kind = RecordKind::kPacket;
  transport::RecordHeader& header = record->header;
  header = {};
  if (!known_.empty()) {
    const Known& known = known_[below(known_.size())];
    header.operation = known.id;
    header.signature = known.signature;
  }
  if (below(8) == 0) header.operation = some_value();
  if (below(6) == 0) header.signature.count = some_value();
  if (below(10) == 0) header.signature.collective = static_cast<uint8_t>(some_value());
  if (below(10) == 0) header.signature.type = static_cast<uint8_t>(some_value());
  header.message = static_cast<uint32_t>(below(2) == 0 ? below(3) : some_value());
  header.connection = static_cast<uint16_t>(below(2) == 0 ? below(4) : some_value());
  header.bytes = static_cast<uint16_t>(below(2) == 0 ? 8 * below(60) : some_value());
  for (std::byte& byte : record->payload) byte = static_cast<std::byte>(random_());
  if (kind == RecordKind::kHello) forge_hello(*record);
  if (kind == RecordKind::kFailed) forge_failure(*record);
  ring.publish(kind);
}

RemoteAddress MadRank::some_address() {
  const uint64_t segment = cluster_.segment(rank_).size();
  switch (below(6)) {
    case 0: return {RemoteAddress::kSegment, below(segment)};
    case 1: return {RemoteAddress::kSegment, below(segment / 64) * 64};
    case 2: return {RemoteAddress::kSegment, segment - below(4096)};
    case 3: return {RemoteAddress::kPrivate, some_value()};
    case 4:
      return {RemoteAddress::kPrivate,
              addresses_.empty() ? 0 : addresses_[below(addresses_.size())] + below(3) * 8};
    default: return {below(5), some_value()};
  }
}

// Words where words are, most of the time: else nothing further is ever looked at.
void MadRank::forge_hello(Record& record) {
  engine::Hello hello;
  const transport::SegmentLayout layout{cluster_.num_ranks()};
  hello.words = {RemoteAddress::kSegment, layout.arena() + 64 * below(16)};
  if (below(4) == 0) hello.words = some_address();
  for (RemoteAddress& buffer : hello.buffers) buffer = some_address();
  std::memcpy(record.payload.data(), &hello, sizeof hello);
}

void MadRank::forge_failure(Record& record) {
  engine::Failure failure;
  failure.code = static_cast<uint32_t>(below(2) == 0 ? below(12) : some_value());
  failure.rank = static_cast<uint32_t>(below(2) == 0 ? below(8) : some_value());
  failure.other = static_cast<uint32_t>(below(2) == 0 ? below(8) : some_value());
  std::memcpy(record.payload.data(), &failure, sizeof failure);
}

}  // namespace tutti::test
