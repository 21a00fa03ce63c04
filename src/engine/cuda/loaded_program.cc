#include "engine/cuda/loaded_program.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/try.h"
#include "engine/cuda/fold.h"
#include "engine/cuda/passes.h"
#include "engine/cuda/port.h"
#include "engine/cuda/sums.h"

namespace tutti::engine::cuda {
namespace {

// Less than this is not worth another block: it is moved while the other would look.
constexpr uint64_t kLeastPart = uint64_t{16} * 1024;
constexpr uint64_t kPartAlign = 128;

uint64_t rounded_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

// Tables one behind the other, to be copied to the device in one go.
class Image {
 public:
  template <class T>
  uint64_t add(const std::vector<T>& table) {
    const uint64_t at = rounded_up(bytes_.size(), 16);
    bytes_.resize(at + table.size() * sizeof(T));
    if (!table.empty()) std::memcpy(bytes_.data() + at, table.data(), table.size() * sizeof(T));
    return at;
  }
  [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// What lies at home, and how much it is. The members come right behind the context.
uint64_t lay_out(DeviceProgram& tables) {
  const uint64_t num_parts = tables.num_parts;
  uint64_t end = 0;
  const auto reserve = [&](uint64_t bytes, uint64_t align) {
    const uint64_t at = rounded_up(end, align);
    end = at + bytes;
    return static_cast<uint32_t>(at);
  };
  reserve(sizeof(Context), 128);
  tables.homes.members = reserve(tables.num_members * sizeof(PeerSide), 16);
  tables.homes.parts = reserve(num_parts * sizeof(Part), 16);
  tables.homes.cursors = reserve(num_parts * tables.view.num_lanes * sizeof(Cursor), 16);
  tables.homes.words = reserve(num_parts * tables.num_words() * sizeof(uint32_t), 128);
  tables.homes.closing = reserve(sizeof(Closing), 128);
  tables.homes.nodes = reserve(tables.num_members * sizeof(EarlyNode), 128);
  const bool has_record = tables.is_passed != 0 && num_parts > 1;
  tables.homes.record = reserve(has_record ? kMostRecordWords * sizeof(uint64_t) : 0, 16);
  tables.homes.scratch = reserve(tables.scratch_bytes, 256);
  return end;
}

// A step that covers all chunks of the output: those that any step writes there.
ProgramStep output_step(const BoundProgram& program, std::vector<Piece>& pieces) {
  ProgramStep step{};
  step.in = step.out = step.exported = kNoLink;
  step.src_buffer = step.dst_buffer = static_cast<uint8_t>(ir::Buffer::kOutput);
  step.first_piece = static_cast<uint32_t>(pieces.size());
  std::vector<Piece> chunks;
  for (const ProgramStep& it : program.steps) {
    if (it.dst_buffer != step.dst_buffer) continue;
    if (!ir::writes_dst(static_cast<ir::StepKind>(it.kind))) continue;
    for (uint32_t i = 0; i < it.num_pieces; ++i) chunks.push_back(pieces[it.first_piece + i]);
  }
  std::sort(chunks.begin(), chunks.end(),
            [](const Piece& a, const Piece& b) { return a.dst < b.dst; });
  for (const Piece& chunk : chunks) {
    if (pieces.size() > step.first_piece && pieces.back().dst == chunk.dst) continue;
    pieces.push_back({chunk.bytes, chunk.dst, chunk.dst, 0});
  }
  step.num_pieces = static_cast<uint32_t>(pieces.size()) - step.first_piece;
  return step;
}

// If the operation is to be run so: by one block, or by several, each of which then moves its part
// without looking at anything else meanwhile. Else nothing.
Passes add_passes(const FusedProgram& fused, DeviceProgram& tables) {
  if (fused.is_inline) return {};
  std::optional<Passes> passes = passes_of(fused);
  if (!passes) return {};
  const auto num_places = static_cast<uint32_t>(passes->places.size());
  const auto num_notices = static_cast<uint32_t>(passes->notices.size());
  const bool fits = num_record_words(num_places, num_notices) <= kMostRecordWords &&
                    tables.part_bytes <= kTileBytes;
  if (tables.num_parts > 1 && !fits) return {};
  tables.is_passed = 1;
  tables.num_passes = static_cast<uint32_t>(passes->passes.size());
  tables.num_places = num_places;
  tables.num_notices = num_notices;
  return *std::move(passes);
}

}  // namespace

Result<LoadedProgram> LoadedProgram::load(ProgramMemory& memory, const FusedProgram& fused,
                                          std::span<const uint32_t> members, uint32_t most_parts,
                                          Exports* exports) {
  LoadedProgram out(memory, exports);
  DeviceProgram& tables = out.tables_;
  const BoundProgram& program = fused.program;
  std::vector<Piece> pieces = program.pieces;
  std::vector<ProgramStep> steps = program.steps;
  std::vector<StepFusion> fusions = fused.fusions;
  tables.output_step = static_cast<uint32_t>(steps.size());
  steps.push_back(output_step(program, pieces));
  fusions.push_back({});

  std::vector<uint32_t> peers;
  for (const Rank peer : program.peers) peers.push_back(peer.value);
  tables.num_members = static_cast<uint32_t>(members.size());
  tables.self = program.self.value;
  tables.num_ins = static_cast<uint32_t>(fused.ins.size());
  tables.num_outs = static_cast<uint32_t>(fused.outs.size());
  tables.input_bytes = program.input_bytes;
  tables.scratch_bytes = program.scratch_bytes;
  tables.is_inline = fused.is_inline ? 1 : 0;
  out.may_be_in_place_ = program.may_be_in_place || fused.is_inline;
  const uint64_t parts = fused.is_narrow ? 1 : fused.largest_chunk / kLeastPart;
  tables.num_parts = static_cast<uint32_t>(std::clamp<uint64_t>(parts, 1, most_parts));
  tables.part_bytes = std::max(
      rounded_up((fused.largest_chunk + tables.num_parts - 1) / tables.num_parts, kPartAlign),
      kPartAlign);

  Image image;
  const uint64_t lanes_at = image.add(program.lanes);
  const uint64_t steps_at = image.add(steps);
  const uint64_t deps_at = image.add(program.deps);
  const uint64_t pieces_at = image.add(pieces);
  const uint64_t fusions_at = image.add(fusions);
  const uint64_t pushes_at = image.add(fused.pushes);
  const uint64_t ins_at = image.add(fused.ins);
  const uint64_t outs_at = image.add(fused.outs);
  const std::optional<Sums> sums = sums_of(fused);
  tables.is_summed = sums ? 1 : 0;
  tables.num_sums = sums ? static_cast<uint32_t>(sums->sums.size()) : 0;
  const uint64_t sums_at = image.add(sums ? sums->sums : std::vector<Sum>());
  const uint64_t sum_sources_at = image.add(sums ? sums->sources : std::vector<SumSource>());
  const Passes passes = add_passes(fused, tables);
  const uint64_t passes_at = image.add(passes.passes);
  const uint64_t places_at = image.add(passes.places);
  const uint64_t notices_at = image.add(passes.notices);
  const uint64_t awaited_at = image.add(passes.awaited);
  const uint64_t members_at = image.add(std::vector<uint32_t>(members.begin(), members.end()));
  const uint64_t peers_at = image.add(peers);
  tables.image_bytes = static_cast<uint32_t>(rounded_up(image.bytes().size(), 16));
  const uint64_t header_at = image.add(std::vector<DeviceProgram>(1));

  TUTTI_ASSIGN(out.image_, memory.device.take(image.bytes().size(), 0));
  std::byte* const base = out.image_.at();
  tables.image = base;
  tables.view = {reinterpret_cast<const ProgramLane*>(base + lanes_at),
                 reinterpret_cast<const ProgramStep*>(base + steps_at),
                 reinterpret_cast<const ProgramDep*>(base + deps_at),
                 reinterpret_cast<const Piece*>(base + pieces_at),
                 static_cast<uint32_t>(program.lanes.size())};
  out.home_bytes_ = lay_out(tables);
  tables.fusions = reinterpret_cast<const StepFusion*>(base + fusions_at);
  tables.pushes = reinterpret_cast<const Push*>(base + pushes_at);
  tables.ins = reinterpret_cast<const DeviceLink*>(base + ins_at);
  tables.outs = reinterpret_cast<const DeviceLink*>(base + outs_at);
  tables.sums = reinterpret_cast<const Sum*>(base + sums_at);
  tables.sum_sources = reinterpret_cast<const SumSource*>(base + sum_sources_at);
  tables.passes = reinterpret_cast<const Pass*>(base + passes_at);
  tables.pass_places = reinterpret_cast<const PassPlace*>(base + places_at);
  tables.notices = reinterpret_cast<const Notice*>(base + notices_at);
  tables.awaited = reinterpret_cast<const uint32_t*>(base + awaited_at);
  tables.members = reinterpret_cast<const uint32_t*>(base + members_at);
  tables.peer_members = reinterpret_cast<const uint32_t*>(base + peers_at);
  std::memcpy(image.bytes().data() + header_at, &tables, sizeof tables);
  TUTTI_TRY(memory.device.device().write(base, image.bytes().data(), image.bytes().size()));
  out.number_ = memory.last_number.fetch_add(1, std::memory_order_relaxed) + 1;
  out.bytes_->store(out.image_.bytes(), std::memory_order_relaxed);
  out.program_ = reinterpret_cast<const DeviceProgram*>(base + header_at);
  return out;
}

LoadedProgram::~LoadedProgram() {
  if (free_.size() == homes_.size()) return;
  std::unordered_set<const void*> clean;
  for (const Slot& slot : free_) clean.insert(slot.context);
  for (Home& home : homes_) {
    if (clean.contains(home.memory.at())) continue;
    home.memory.abandon();
    home.completion.abandon();
  }
  image_.abandon();
}

Result<LoadedProgram::Slot> LoadedProgram::take_slot() {
  if (free_.empty()) {
    TUTTI_ASSIGN(const Slot made, make_slot());
    free_.push_back(made);
  }
  const Slot slot = free_.back();
  free_.pop_back();
  uses_.begin();
  *slot.completion = {};
  return slot;
}

void LoadedProgram::give_back(Slot slot) {
  free_.push_back(slot);
  uses_.end();
}

Result<LoadedProgram::Slot> LoadedProgram::make_slot() {
  Home home;
  TUTTI_ASSIGN(home.memory, memory_->device.take(home_bytes_, tables_.homes.scratch));
  TUTTI_ASSIGN(home.completion, memory_->shared.take(sizeof(Completion), sizeof(Completion)));
  auto there = reinterpret_cast<uint64_t>(home.memory.at());
  if (exports_ != nullptr) {
    TUTTI_ASSIGN(there, exports_->address_of(home.memory.at()));
  }
  bytes_->fetch_add(home.memory.bytes(), std::memory_order_relaxed);
  const Slot slot{reinterpret_cast<Context*>(home.memory.at()), there,
                  reinterpret_cast<Completion*>(home.completion.at())};
  homes_.push_back(std::move(home));
  return slot;
}

}  // namespace tutti::engine::cuda
