// Opens an image: header first, then that every table lies inside, then every record. After that
// nothing in the image can lead its reader outside.
#include <fmt/format.h>

#include "base/try.h"
#include "ir/image.h"
#include "ir/layout.h"

namespace tutti::ir {
namespace {

Error malformed_image(std::string what) {
  return {ErrorCode::kMalformed, "device image: " + std::move(what)};
}

Status check_table(TableImage table, size_t record_bytes, size_t num_bytes, const char* name) {
  const uint64_t end = uint64_t{table.offset} + uint64_t{table.count} * record_bytes;
  const bool inside =
      table.offset >= sizeof(ImageHeader) && table.offset % 16 == 0 && end <= num_bytes;
  if (inside) return {};
  return malformed_image(fmt::format("the table of {} lies outside", name));
}

Status check_header(const ImageHeader& h, size_t num_bytes) {
  if (h.magic != kImageMagic) return malformed_image("not an image");
  if (h.version != kImageVersion) return malformed_image(fmt::format("version {}", h.version));
  if (h.num_bytes != num_bytes) return malformed_image("its length is not what it says");
  if (h.collective >= kNumCollectiveKinds) return malformed_image("unknown collective");
  if (h.placement > static_cast<uint8_t>(Placement::kEither))
    return malformed_image("unknown placement");
  const Collective collective{static_cast<CollectiveKind>(h.collective), h.num_ranks, h.root,
                              h.peer};
  TUTTI_ASSIGN(const Layout layout, Layout::create(collective, h.chunks_per_block));
  if (h.rank >= h.num_ranks) return malformed_image("its rank does not exist");
  if (h.num_input_chunks != layout.num_chunks(Rank{h.rank}, Buffer::kInput) ||
      h.num_output_chunks != layout.num_chunks(Rank{h.rank}, Buffer::kOutput)) {
    return malformed_image("its buffers are not those of the collective");
  }
  TUTTI_TRY(check_table(h.lanes, sizeof(LaneImage), num_bytes, "lanes"));
  TUTTI_TRY(check_table(h.steps, sizeof(StepImage), num_bytes, "steps"));
  TUTTI_TRY(check_table(h.deps, sizeof(DepImage), num_bytes, "dependencies"));
  TUTTI_TRY(check_table(h.sends, sizeof(ConnectionImage), num_bytes, "sends"));
  TUTTI_TRY(check_table(h.recvs, sizeof(ConnectionImage), num_bytes, "recvs"));
  return check_table(h.scratch, sizeof(uint32_t), num_bytes, "scratch");
}

Status check_lanes(const ImageView& image) {
  uint64_t next = 0;
  for (const LaneImage& lane : image.lanes()) {
    if (lane.first_step != next) return malformed_image("lanes do not follow one another");
    next += lane.num_steps;
  }
  if (next == image.steps().size()) return {};
  return malformed_image("lanes do not cover the steps");
}

Status check_connections(const ImageView& image, std::span<const ConnectionImage> connections) {
  const ImageHeader& h = image.header();
  if (connections.size() > kNoConnection) return malformed_image("too many connections");
  for (const ConnectionImage& end : connections) {
    if (end.peer >= h.num_ranks || end.peer == h.rank || end.peer_index >= kNoConnection) {
      return malformed_image(fmt::format("a connection with rank {}", end.peer));
    }
  }
  return {};
}

class StepChecker {
 public:
  explicit StepChecker(const ImageView& image)
      : image_(image),
        lengths_{image.header().num_input_chunks, image.header().num_output_chunks,
                 image.header().scratch.count} {}

  [[nodiscard]] bool good(const StepImage& step) const {
    if (step.kind >= kNumStepKinds) return false;
    const auto kind = static_cast<StepKind>(step.kind);
    return region_good(step.src_buffer, step.src_index, reads_src(kind) ? step.num_chunks : 0) &&
           region_good(step.dst_buffer, step.dst_index, writes_dst(kind) ? step.num_chunks : 0) &&
           message_good(step.send_connection, step.send_number, sends(kind), image_.sends()) &&
           message_good(step.recv_connection, step.recv_number, receives(kind), image_.recvs()) &&
           deps_good(step);
  }

 private:
  [[nodiscard]] bool region_good(uint8_t buffer, uint32_t index, uint32_t count) const {
    return buffer < kNumBuffers && (count == 0 || uint64_t{index} + count <= lengths_[buffer]);
  }

  static bool message_good(uint16_t connection, uint32_t number, bool used,
                           std::span<const ConnectionImage> connections) {
    if (!used) return connection == kNoConnection;
    return connection < connections.size() && number < connections[connection].num_messages;
  }

  [[nodiscard]] bool deps_good(const StepImage& step) const {
    if (uint64_t{step.first_dep} + step.num_deps > image_.deps().size()) return false;
    for (const DepImage& dep : image_.deps().subspan(step.first_dep, step.num_deps)) {
      if (dep.lane >= image_.lanes().size()) return false;
      if (dep.step >= image_.lanes()[dep.lane].num_steps) return false;
    }
    return true;
  }

  const ImageView& image_;
  const uint32_t lengths_[kNumBuffers];
};

}  // namespace

Result<ImageView> open_image(std::span<const std::byte> bytes) {
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % alignof(ImageHeader) == 0;
  if (bytes.size() < sizeof(ImageHeader) || !aligned) {
    return malformed_image("too short for a header, or not on 16 bytes");
  }
  const ImageView image(bytes);
  TUTTI_TRY(check_header(image.header(), bytes.size()));
  TUTTI_TRY(check_lanes(image));
  TUTTI_TRY(check_connections(image, image.sends()));
  TUTTI_TRY(check_connections(image, image.recvs()));
  const StepChecker checker(image);
  for (size_t i = 0; i < image.steps().size(); ++i) {
    if (!checker.good(image.steps()[i]))
      return malformed_image(fmt::format("step {} is damaged", i));
  }
  return image;
}

}  // namespace tutti::ir
