#include "ir/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/try.h"
#include "ir/layout.h"

namespace tutti::ir {
namespace {

static_assert(std::is_trivially_copyable_v<ImageHeader> && std::is_trivially_copyable_v<LaneImage>);
static_assert(std::is_trivially_copyable_v<StepImage> && std::is_trivially_copyable_v<DepImage>);
static_assert(std::is_trivially_copyable_v<ConnectionImage>);
static_assert(kNumBuffers <= 16 && kNumStepKinds <= 256, "StepImage packs them");

Error unsupported(Rank rank, std::string_view what) {
  return {ErrorCode::kUnsupported,
          fmt::format("rank {}: a device image holds {}", rank.value, what)};
}

// The ends of one rank's connections in one direction, sorted by peer and channel.
struct RankEnds {
  struct End {
    uint32_t peer;
    uint32_t channel;
    uint32_t lane;

    friend auto operator<=>(const End&, const End&) = default;
  };
  std::vector<End> sorted;

  [[nodiscard]] uint32_t index(uint32_t peer, uint32_t channel) const {
    const auto found = std::lower_bound(sorted.begin(), sorted.end(), End{peer, channel, 0});
    const bool exists = found != sorted.end() && found->peer == peer && found->channel == channel;
    return exists ? static_cast<uint32_t>(found - sorted.begin()) : UINT32_MAX;
  }
};

enum class Direction { kSend, kRecv };

uint32_t peer_of(const Step& step, Direction direction) {
  if (direction == Direction::kSend) return sends(step.kind) ? step.send_peer.value : UINT32_MAX;
  return receives(step.kind) ? step.recv_peer.value : UINT32_MAX;
}

RankEnds collect_rank_ends(const RankProgram& program, Direction direction) {
  RankEnds ends;
  for (uint32_t lane = 0; lane < program.lanes.size(); ++lane) {
    const size_t begin = ends.sorted.size();
    for (const Step& step : program.lanes[lane].steps) {
      const uint32_t peer = peer_of(step, direction);
      if (peer != UINT32_MAX) ends.sorted.push_back({peer, program.lanes[lane].channel, lane});
    }
    const auto first = ends.sorted.begin() + static_cast<std::ptrdiff_t>(begin);
    std::sort(first, ends.sorted.end());
    ends.sorted.erase(std::unique(first, ends.sorted.end()), ends.sorted.end());
  }
  std::sort(ends.sorted.begin(), ends.sorted.end());
  return ends;
}

class ImageMaker {
 public:
  ImageMaker(const Schedule& schedule, const Layout& layout, Rank rank)
      : schedule_(schedule), layout_(layout), rank_(rank), program_(schedule.ranks[rank.value]) {}

  Result<std::vector<std::byte>> make() && {
    send_ends_ = collect_rank_ends(program_, Direction::kSend);
    recv_ends_ = collect_rank_ends(program_, Direction::kRecv);
    TUTTI_ASSIGN(sends_, make_connections(send_ends_, Direction::kSend));
    TUTTI_ASSIGN(recvs_, make_connections(recv_ends_, Direction::kRecv));
    for (const Lane& lane : program_.lanes) TUTTI_TRY(add_lane(lane));
    return assemble();
  }

 private:
  Result<std::vector<ConnectionImage>> make_connections(const RankEnds& ends, Direction direction) {
    const Direction other = direction == Direction::kSend ? Direction::kRecv : Direction::kSend;
    if (ends.sorted.size() >= kNoConnection) {
      return unsupported(rank_, "at most 65535 connections each way");
    }
    std::vector<ConnectionImage> connections;
    RankEnds peer_ends;
    for (size_t i = 0; i < ends.sorted.size(); ++i) {
      const auto [peer, channel, lane] = ends.sorted[i];
      const bool new_peer = i == 0 || ends.sorted[i - 1].peer != peer;
      if (!new_peer && ends.sorted[i - 1].channel == channel) {
        return fault(peer, channel, "is used by two lanes of this rank");
      }
      if (new_peer) peer_ends = collect_rank_ends(schedule_.ranks[peer], other);
      const uint32_t peer_index = peer_ends.index(rank_.value, channel);
      if (peer_index == UINT32_MAX) return fault(peer, channel, "has no step at its other end");
      connections.push_back({peer, channel, peer_index, 0});
    }
    return connections;
  }

  Error fault(uint32_t peer, uint32_t channel, const char* what) const {
    return {ErrorCode::kMalformed,
            fmt::format("rank {}: the connection with rank {} on channel {} {}", rank_.value, peer,
                        channel, what)};
  }

  Status add_lane(const Lane& lane) {
    lanes_.push_back({static_cast<uint32_t>(steps_.size()),
                      static_cast<uint32_t>(lane.steps.size()), lane.channel, 0});
    for (const Step& step : lane.steps) {
      if (step.num_deps > UINT16_MAX)
        return unsupported(rank_, "at most 65535 dependencies a step");
      steps_.push_back(make_step(step, lane.channel));
    }
    return {};
  }

  StepImage make_step(const Step& step, uint32_t channel) {
    StepImage image{};
    image.kind = static_cast<uint8_t>(step.kind);
    image.src_buffer = static_cast<uint8_t>(step.src_buffer) & 0xf;
    image.dst_buffer = static_cast<uint8_t>(step.dst_buffer) & 0xf;
    image.num_deps = static_cast<uint16_t>(step.num_deps);
    image.src_index = step.src_index;
    image.dst_index = step.dst_index;
    image.num_chunks = step.num_chunks;
    image.first_dep = static_cast<uint32_t>(deps_.size());
    for (StepRef dep : program_.deps_of(step)) deps_.push_back({dep.lane, dep.step});
    image.send_connection = image.recv_connection = kNoConnection;
    if (sends(step.kind)) {
      const uint32_t index = send_ends_.index(step.send_peer.value, channel);
      image.send_connection = static_cast<uint16_t>(index);
      image.send_number = sends_[index].num_messages++;
    }
    if (receives(step.kind)) {
      const uint32_t index = recv_ends_.index(step.recv_peer.value, channel);
      image.recv_connection = static_cast<uint16_t>(index);
      image.recv_number = recvs_[index].num_messages++;
    }
    return image;
  }

  Result<std::vector<std::byte>> assemble() {
    uint64_t end = sizeof(ImageHeader);
    const auto place = [&end](size_t count, size_t record_bytes) {
      const uint64_t offset = end;
      end += (uint64_t{count} * record_bytes + 15) / 16 * 16;
      return TableImage{static_cast<uint32_t>(offset), static_cast<uint32_t>(count)};
    };
    ImageHeader header = make_header();
    header.lanes = place(lanes_.size(), sizeof(LaneImage));
    header.steps = place(steps_.size(), sizeof(StepImage));
    header.deps = place(deps_.size(), sizeof(DepImage));
    header.sends = place(sends_.size(), sizeof(ConnectionImage));
    header.recvs = place(recvs_.size(), sizeof(ConnectionImage));
    header.scratch = place(program_.scratch.size(), sizeof(uint32_t));
    if (end > UINT32_MAX) return unsupported(rank_, "at most 4 GiB");
    header.num_bytes = static_cast<uint32_t>(end);

    std::vector<std::byte> bytes(end);
    std::memcpy(bytes.data(), &header, sizeof header);
    const auto write = [&bytes](TableImage table, const void* records, size_t record_bytes) {
      if (table.count == 0) return;
      std::memcpy(bytes.data() + table.offset, records, table.count * record_bytes);
    };
    write(header.lanes, lanes_.data(), sizeof(LaneImage));
    write(header.steps, steps_.data(), sizeof(StepImage));
    write(header.deps, deps_.data(), sizeof(DepImage));
    write(header.sends, sends_.data(), sizeof(ConnectionImage));
    write(header.recvs, recvs_.data(), sizeof(ConnectionImage));
    write(header.scratch, program_.scratch.data(), sizeof(uint32_t));
    return bytes;
  }

  ImageHeader make_header() const {
    const Collective& c = schedule_.collective;
    ImageHeader header{};
    header.magic = kImageMagic;
    header.version = kImageVersion;
    header.rank = rank_.value;
    header.num_ranks = c.num_ranks;
    header.root = c.root;
    header.peer = c.peer;
    header.chunks_per_block = schedule_.chunks_per_block;
    header.slots = schedule_.slots;
    header.collective = static_cast<uint8_t>(c.kind);
    header.placement = static_cast<uint8_t>(schedule_.placement);
    header.num_input_chunks = layout_.num_chunks(rank_, Buffer::kInput);
    header.num_output_chunks = layout_.num_chunks(rank_, Buffer::kOutput);
    return header;
  }

  const Schedule& schedule_;
  const Layout& layout_;
  const Rank rank_;
  const RankProgram& program_;
  RankEnds send_ends_;
  RankEnds recv_ends_;
  std::vector<LaneImage> lanes_;
  std::vector<StepImage> steps_;
  std::vector<DepImage> deps_;
  std::vector<ConnectionImage> sends_;
  std::vector<ConnectionImage> recvs_;
};

}  // namespace

Result<std::vector<std::byte>> make_image(const Schedule& schedule, Rank rank) {
  TUTTI_CHECK(rank.value < schedule.ranks.size(), "an image is of a rank that exists");
  TUTTI_ASSIGN(const Layout layout, Layout::create(schedule.collective, schedule.chunks_per_block));
  return ImageMaker(schedule, layout, rank).make();
}

}  // namespace tutti::ir
