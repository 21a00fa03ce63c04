// The content of an MSCCL XML file as data, and what MSCCL's own parser and interpreter demand of
// it. The writer and the reader translate between this and text, the legaliser and the importer
// between this and schedules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/schedule.h"
#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::ir::msccl {

// What MSCCL's parser refuses beyond, or silently cuts off (its fixed-size tables and fields).
inline constexpr uint32_t kMaxBlocks = 216;
inline constexpr uint32_t kMaxRows = 256;  // of a thread block, nops included
inline constexpr uint32_t kMaxCount = 71;  // chunks of one transfer
inline constexpr uint32_t kMaxChannels = 32;
inline constexpr uint32_t kMaxPeersPerChannel = 32;
inline constexpr uint32_t kMaxNameLength = 63;
inline constexpr uint32_t kMaxOffset = 32767;  // offsets are kept in 16 bits
inline constexpr uint32_t kMaxDepBlock = 127;  // the block a row waits for, in 8 bits
inline constexpr uint32_t kMaxNodes = 4095;    // XML elements that one rank looks at
inline constexpr uint32_t kMaxRanks = 1024;    // elements below one element
inline constexpr uint32_t kMaxValueLength = 255;

// The type of a <step>. kNop only waits.
enum class RowType : uint8_t { kSend, kRecv, kRcs, kRrs, kRrc, kRrcs, kCopy, kReduce, kNop };

[[nodiscard]] std::string_view to_string(RowType type) noexcept;
[[nodiscard]] std::optional<RowType> parse_row_type(std::string_view text) noexcept;
// The step that a row other than kNop stands for, and back.
[[nodiscard]] StepKind step_kind(RowType type);
[[nodiscard]] RowType row_type(StepKind kind);

// Offsets that the type does not use are blank ({kInput, 0}); files write -1 there.
struct Row {
  RowType type = RowType::kNop;
  Buffer src_buffer = Buffer::kInput;
  Buffer dst_buffer = Buffer::kInput;
  bool has_dep = false;  // another row waits for this one
  uint32_t src_offset = 0;
  uint32_t dst_offset = 0;
  uint32_t count = 0;
  int32_t dep_block = -1;  // waits for this row of this block of the same rank
  int32_t dep_row = -1;

  // Ours: the step of the lane that this row belongs to, and that step's dependencies.
  int32_t hint_step = -1;
  std::vector<StepRef> hint_after;

  int line = 0;
  friend bool operator==(const Row& a, const Row& b);
};

struct Block {
  int32_t send = -1;
  int32_t recv = -1;
  uint32_t channel = 0;
  int32_t hint_lane = -1;
  std::vector<Row> rows;

  int line = 0;
  friend bool operator==(const Block& a, const Block& b);
};

struct Gpu {
  uint32_t input_chunks = 0;
  uint32_t output_chunks = 0;
  uint32_t scratch_chunks = 0;
  // Ours: the sizes of the schedule's own scratch, which comes first.
  std::vector<ChunkId> hint_scratch;
  std::vector<Block> blocks;

  int line = 0;
  friend bool operator==(const Gpu& a, const Gpu& b);
};

struct Algo {
  std::string name;
  std::string proto = "Simple";
  CollectiveKind collective = CollectiveKind::kAllReduce;
  uint32_t num_channels = 1;
  uint32_t chunks_per_loop = 1;
  bool in_place = false;
  bool out_of_place = false;
  uint64_t max_bytes = 0;
  int32_t hint_root = -1;
  int32_t hint_slots = -1;
  std::vector<Gpu> gpus;

  std::string source;  // the file, in errors; empty for one that was not read
  friend bool operator==(const Algo& a, const Algo& b);
};

// kUnsupported naming the limit of MSCCL that the file breaks and where.
[[nodiscard]] Status check_limits(const Algo& algo);

// "ring.xml:12: gpu 3 tb 0 step 2", as far as it is known.
[[nodiscard]] std::string place_name(const Algo& algo, uint32_t gpu, int32_t block = -1,
                                     int32_t row = -1);

// MSCCL's name of a collective; empty where it has none.
[[nodiscard]] std::string_view collective_name(CollectiveKind kind) noexcept;
[[nodiscard]] std::optional<CollectiveKind> parse_collective_name(std::string_view text) noexcept;
// How many blocks (ir/layout.h) lie in the buffer that nchunksperloop counts.
[[nodiscard]] uint32_t blocks_per_loop(CollectiveKind kind, uint32_t num_ranks) noexcept;

}  // namespace tutti::ir::msccl
