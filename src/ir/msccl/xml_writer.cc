#include <fmt/format.h>

#include "base/try.h"
#include "ir/msccl/xml_text.h"

namespace tutti::ir::msccl {
namespace {

constexpr size_t kMaxAttributes = 16;
constexpr size_t kStepAttributes = 11;  // written before a step's list, tutti_step included
constexpr size_t kGpuAttributes = 4;

char xml_buffer_letter(Buffer buffer) {
  switch (buffer) {
    case Buffer::kInput: return 'i';
    case Buffer::kOutput: return 'o';
    case Buffer::kScratch: return 's';
  }
  return '?';
}

class XmlWriter {
 public:
  Result<std::string> write(const Algo& algo) && {
    put("<algo name=\"{}\" proto=\"{}\" nchannels=\"{}\" nchunksperloop=\"{}\" ngpus=\"{}\" "
        "coll=\"{}\" inplace=\"{}\" outofplace=\"{}\" minBytes=\"0\" maxBytes=\"{}\"",
        algo.name, algo.proto, algo.num_channels, algo.chunks_per_loop, algo.gpus.size(),
        collective_name(algo.collective), algo.in_place ? 1 : 0, algo.out_of_place ? 1 : 0,
        algo.max_bytes);
    if (algo.hint_slots >= 0) put(" tutti_slots=\"{}\"", algo.hint_slots);
    if (algo.hint_root >= 0) put(" tutti_root=\"{}\"", algo.hint_root);
    put(">\n");
    for (uint32_t g = 0; g < algo.gpus.size(); ++g) TUTTI_TRY(write_gpu(algo, g));
    put("</algo>\n");
    return fmt::to_string(out_);
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<Args>(args)...);
  }

  Status write_gpu(const Algo& algo, uint32_t g) {
    const Gpu& gpu = algo.gpus[g];
    put(" <gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\"", g, gpu.input_chunks,
        gpu.output_chunks, gpu.scratch_chunks);
    std::vector<std::string> sizes;
    for (size_t i = 0; i < gpu.hint_scratch.size();) {
      size_t end = i + 1;
      while (end < gpu.hint_scratch.size() && gpu.hint_scratch[end] == gpu.hint_scratch[i]) ++end;
      const ChunkId chunk = gpu.hint_scratch[i];
      sizes.push_back(chunk == kAnyChunk ? "any" : std::to_string(chunk.value));
      if (end - i > 1) sizes.back() += fmt::format("*{}", end - i);
      i = end;
    }
    if (!write_list("tutti_scratch", sizes, kMaxAttributes - kGpuAttributes)) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("gpu {}: too many different sizes of scratch for an XML file", g)};
    }
    put(">\n");
    for (uint32_t b = 0; b < gpu.blocks.size(); ++b) TUTTI_TRY(write_block(algo, g, b));
    put(" </gpu>\n");
    return {};
  }

  Status write_block(const Algo& algo, uint32_t g, uint32_t b) {
    const Block& block = algo.gpus[g].blocks[b];
    put("  <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\"", b, block.send, block.recv,
        block.channel);
    if (block.hint_lane >= 0) put(" tutti_lane=\"{}\"", block.hint_lane);
    put(">\n");
    for (size_t r = 0; r < block.rows.size(); ++r) {
      if (write_row(block.rows[r], r)) continue;
      return Error{ErrorCode::kUnsupported, fmt::format("{}: too many dependencies for an XML file",
                                                        place_name(algo, g, static_cast<int32_t>(b),
                                                                   static_cast<int32_t>(r)))};
    }
    put("  </tb>\n");
    return {};
  }

  bool write_row(const Row& row, size_t number) {
    const bool nop = row.type == RowType::kNop;
    const bool src = !nop && reads_src(step_kind(row.type));
    const bool dst = !nop && writes_dst(step_kind(row.type));
    put("   <step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\"", number, to_string(row.type),
        xml_buffer_letter(row.src_buffer), src ? static_cast<int64_t>(row.src_offset) : -1);
    put(" dstbuf=\"{}\" dstoff=\"{}\" cnt=\"{}\" depid=\"{}\" deps=\"{}\" hasdep=\"{}\"",
        xml_buffer_letter(row.dst_buffer), dst ? static_cast<int64_t>(row.dst_offset) : -1,
        row.count, row.dep_block, row.dep_row, row.has_dep ? 1 : 0);
    if (row.hint_step >= 0) put(" tutti_step=\"{}\"", row.hint_step);
    std::vector<std::string> after;
    for (StepRef dep : row.hint_after) after.push_back(fmt::format("{}.{}", dep.lane, dep.step));
    if (!write_list("tutti_after", after, kMaxAttributes - kStepAttributes)) return false;
    put("/>\n");
    return true;
  }

  // A list as NAME="...", NAME1="...", as many as needed to keep each value short.
  bool write_list(std::string_view name, const std::vector<std::string>& items,
                  size_t max_attributes) {
    std::string value;
    size_t num_written = 0;
    const auto flush = [&] {
      const std::string suffix = num_written == 0 ? "" : std::to_string(num_written);
      put(" {}{}=\"{}\"", name, suffix, value);
      ++num_written;
      value.clear();
    };
    for (const std::string& item : items) {
      if (!value.empty() && value.size() + 1 + item.size() > kMaxValueLength) flush();
      if (!value.empty()) value += ' ';
      value += item;
    }
    if (!value.empty()) flush();
    return num_written <= max_attributes;
  }

  fmt::memory_buffer out_;
};

}  // namespace

Result<std::string> write_algo(const Algo& algo) { return XmlWriter().write(algo); }

}  // namespace tutti::ir::msccl
