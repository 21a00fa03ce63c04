// A good image with bytes changed is refused, or every number in it leads to something inside. The
// input is a list of changes, four bytes each: where (two bytes), what to do, with what.
#include <cstddef>
#include <cstdint>

#include "ir/builder.h"
#include "ir/image.h"
#include "tests/fuzz/must.h"

namespace {

using namespace tutti;

std::vector<std::byte> good_image() {
  ir::Builder b({CollectiveKind::kAllReduce, 3, 0, 0}, {.name = "fuzz", .chunks_per_block = 4});
  b.add_scratch(Rank{0}, ir::kAnyChunk);
  ir::LaneWriter lane = b.add_lane(Rank{0});
  const ir::StepRef sent = lane.send(ir::input(0, 4), Rank{1});
  lane.recv_reduce(ir::input(1), ir::output(1), Rank{2}, {sent});
  b.add_lane(Rank{0}, 1).copy(ir::input(2), ir::scratch(0), {sent, ir::StepRef{0, 1}});
  b.add_lane(Rank{1}).recv(ir::output(0, 4), Rank{0});
  b.add_lane(Rank{2}).send(ir::input(1), Rank{0});
  return ir::make_image(std::move(b).finish(), Rank{0}).value();
}

void walk(const ir::ImageView& image) {
  const uint32_t lengths[] = {image.header().num_input_chunks, image.header().num_output_chunks,
                              image.header().scratch.count};
  for (const ir::LaneImage& lane : image.lanes()) {
    for (const ir::StepImage& step : image.steps().subspan(lane.first_step, lane.num_steps)) {
      const auto kind = static_cast<ir::StepKind>(step.kind);
      if (ir::reads_src(kind) && step.num_chunks > 0) {
        TUTTI_MUST(uint64_t{step.src_index} + step.num_chunks <= lengths[step.src_buffer]);
      }
      if (ir::sends(kind)) {
        TUTTI_MUST(image.sends()[step.send_connection].num_messages > step.send_number);
      }
      if (ir::receives(kind)) {
        TUTTI_MUST(image.recvs()[step.recv_connection].peer < image.header().num_ranks);
      }
      for (const ir::DepImage& dep : image.deps().subspan(step.first_dep, step.num_deps)) {
        TUTTI_MUST(dep.step < image.lanes()[dep.lane].num_steps);
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<std::byte> kGood = good_image();
  std::vector<std::byte> bytes = kGood;
  for (size_t i = 0; i + 4 <= size; i += 4) {
    const size_t at = (size_t{data[i]} << 8 | data[i + 1]) % bytes.size();
    const auto value = static_cast<std::byte>(data[i + 3]);
    bytes[at] = data[i + 2] % 2 == 0 ? value : bytes[at] ^ value;
  }
  if (const Result<ir::ImageView> image = ir::open_image(bytes)) walk(*image);
  return 0;
}
