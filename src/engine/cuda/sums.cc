#include "engine/cuda/sums.h"

#include "ir/step.h"

namespace tutti::engine::cuda {
namespace {

constexpr auto kSummedInput = static_cast<uint8_t>(ir::Buffer::kInput);
constexpr auto kSummedOutput = static_cast<uint8_t>(ir::Buffer::kOutput);

class Summer {
 public:
  explicit Summer(const FusedProgram& fused) : fused_(fused), program_(fused.program) {}

  std::optional<Sums> sum() {
    for (uint32_t step = 0; step < program_.steps.size(); ++step) {
      if (fused_.fusions[step].is_deferred == 0 && !add_step(step)) return std::nullopt;
    }
    return std::move(out_);
  }

 private:
  bool add_step(uint32_t last) {
    uint32_t first = last;
    while (first > 0 && fused_.fusions[first - 1].is_deferred != 0) --first;
    const ProgramStep& step = program_.steps[last];
    if (step.num_pieces != 0 && (step.out != kNoLink || step.dst_buffer != kSummedOutput)) {
      return false;
    }
    for (uint32_t piece = 0; piece < step.num_pieces; ++piece) {
      const Piece& bytes = program_.pieces[step.first_piece + piece];
      const auto first_source = static_cast<uint32_t>(out_.sources.size());
      for (uint32_t i = first; i <= last; ++i) {
        if (!add_sources(program_.steps[i], piece, i == first)) return false;
      }
      out_.sums.push_back({static_cast<uint32_t>(bytes.dst), static_cast<uint32_t>(bytes.bytes),
                           first_source,
                           static_cast<uint32_t>(out_.sources.size()) - first_source});
    }
    return true;
  }

  // In the order of Port::add_sources.
  bool add_sources(const ProgramStep& step, uint32_t i, bool is_first) {
    const Piece& piece = program_.pieces[step.first_piece + i];
    const auto kind = static_cast<ir::StepKind>(step.kind);
    if (kind == ir::StepKind::kReduce && is_first) return false;  // adds to what is in the output
    if (kind == ir::StepKind::kReduce || (ir::reads_src(kind) && is_first)) {
      if (step.src_buffer != kSummedInput) return false;
      add_source(program_.self.value, piece.src);
    }
    if (step.in == kNoLink) return true;
    if (step.peer_buffer != kSummedInput) return false;
    add_source(program_.peers[program_.ins[step.in].peer].value, piece.peer);
    return true;
  }
  void add_source(uint32_t member, uint64_t at) {
    out_.sources.push_back({static_cast<uint16_t>(member), static_cast<uint16_t>(at)});
  }

  const FusedProgram& fused_;
  const BoundProgram& program_;
  Sums out_;
};

}  // namespace

std::optional<Sums> sums_of(const FusedProgram& fused) {
  if (!fused.is_inline) return std::nullopt;
  return Summer(fused).sum();
}

}  // namespace tutti::engine::cuda
