#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/try.h"
#include "ir/msccl/xml_element.h"
#include "ir/msccl/xml_text.h"

namespace tutti::ir::msccl {
namespace {

constexpr int64_t kAnyInt = INT32_MAX;
// A short element can ask for many scratch positions; this bounds all of them together.
constexpr uint64_t kMaxScratch = uint64_t{1} << 26;

std::optional<Buffer> parse_buffer_letter(std::string_view text) {
  if (text == "i") return Buffer::kInput;
  if (text == "o") return Buffer::kOutput;
  if (text == "s") return Buffer::kScratch;
  return std::nullopt;
}

std::optional<uint32_t> take_xml_number(std::string_view& text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

// The words of NAME, NAME1, NAME2, ...
std::vector<std::string_view> list_of(XmlElement element, const std::string& name) {
  std::vector<std::string_view> words;
  for (int i = 0;; ++i) {
    const auto value = element.find((i == 0 ? name : name + std::to_string(i)).c_str());
    if (!value) return words;
    for (size_t begin = 0; begin < value->size();) {
      const size_t end = std::min(value->find(' ', begin), value->size());
      if (end > begin) words.push_back(value->substr(begin, end - begin));
      begin = end + 1;
    }
  }
}

class XmlReader {
 public:
  explicit XmlReader(std::string source) : file_(std::move(source)) {}

  Result<Algo> read(std::string_view text) && {
    tinyxml2::XMLDocument document;
    if (document.Parse(text.data(), text.size()) != tinyxml2::XML_SUCCESS) {
      file_.fail(std::max(1, document.ErrorLineNum()),
                 fmt::format("not XML ({})", document.ErrorName()));
    }
    const tinyxml2::XMLElement* root = document.RootElement();
    if (root == nullptr || std::string_view(root->Name()) != "algo") {
      file_.fail(root == nullptr ? 1 : root->GetLineNum(), "the root must be <algo>");
    }
    TUTTI_TRY(file_.status());
    read_root(XmlElement(file_, *root));
    TUTTI_TRY(file_.status());
    TUTTI_TRY(check_limits(algo_));
    check_waits();
    TUTTI_TRY(file_.status());
    return std::move(algo_);
  }

 private:
  void read_root(XmlElement e) {
    algo_.source = file_.source();
    algo_.name = e.text("name");
    algo_.proto = e.text("proto");
    if (algo_.proto != "Simple" && algo_.proto != "LL" && algo_.proto != "LL128") {
      e.fail("proto", "must be Simple, LL or LL128");
    }
    algo_.num_channels = uint("nchannels", e, 1, kAnyInt);
    algo_.chunks_per_loop = uint("nchunksperloop", e, 1, kAnyInt);
    const uint32_t num_gpus = uint("ngpus", e, 1, kAnyInt);
    read_collective(e);
    algo_.in_place = e.integer("inplace", 0, 1) != 0;
    algo_.out_of_place = e.integer_or("outofplace", algo_.in_place ? 0 : 1, 0, 1) != 0;
    algo_.max_bytes = static_cast<uint64_t>(e.integer_or("maxBytes", 1 << 27, 0, INT64_MAX));
    algo_.hint_slots = static_cast<int32_t>(e.integer_or("tutti_slots", -1, 0, kAnyInt));
    algo_.hint_root = static_cast<int32_t>(e.integer_or("tutti_root", -1, 0, num_gpus - 1));
    num_gpus_ = num_gpus;
    e.for_each("gpu", [this](XmlElement gpu) { read_gpu(gpu); });
    if (algo_.gpus.size() != num_gpus) {
      e.fail("ngpus", fmt::format("is {}, but there are {} <gpu>", num_gpus, algo_.gpus.size()));
    }
  }

  static uint32_t uint(const char* attribute, XmlElement e, int64_t min, int64_t max) {
    return static_cast<uint32_t>(e.integer(attribute, min, max));
  }

  void read_collective(XmlElement e) {
    const std::string_view name = e.text("coll");
    if (const auto kind = parse_collective_name(name)) {
      algo_.collective = *kind;
    } else if (name == "custom") {
      e.fail("coll", "a custom collective does not say what it computes; it cannot be imported");
    } else {
      e.fail("coll", fmt::format("MSCCL has no collective '{}'", name));
    }
  }

  void read_gpu(XmlElement e) {
    Gpu gpu;
    gpu.line = e.line();
    if (uint("id", e, 0, kAnyInt) != algo_.gpus.size()) {
      e.fail("id", fmt::format("gpus are listed in order; {} comes here", algo_.gpus.size()));
    }
    gpu.input_chunks = uint("i_chunks", e, 0, kMaxOffset + 1);
    gpu.output_chunks = uint("o_chunks", e, 0, kMaxOffset + 1);
    gpu.scratch_chunks = uint("s_chunks", e, 0, kMaxOffset + 1);
    num_scratch_ += gpu.scratch_chunks;
    if (num_scratch_ > kMaxScratch) e.fail("s_chunks", "too much scratch in all");
    check_chunks(e, gpu);
    read_scratch(e, gpu);
    std::vector<Block> blocks;
    std::vector<uint32_t> ids;
    e.for_each("tb", [&](XmlElement tb) {
      ids.push_back(uint("id", tb, 0, kMaxBlocks - 1));
      blocks.push_back(read_block(tb));
    });
    // Thread blocks may stand in any order, but none may be missing.
    gpu.blocks.resize(blocks.size());
    std::vector<bool> seen(blocks.size(), false);
    for (size_t i = 0; i < blocks.size() && !file_.failed(); ++i) {
      if (ids[i] >= blocks.size() || seen[ids[i]]) {
        e.fail("", fmt::format("the ids of its {} <tb> must be 0 to {}, each once", blocks.size(),
                               blocks.size() - 1));
        return;
      }
      seen[ids[i]] = true;
      gpu.blocks[ids[i]] = std::move(blocks[i]);
    }
    algo_.gpus.push_back(std::move(gpu));
  }

  void check_chunks(XmlElement e, const Gpu& gpu) const {
    const uint64_t in = algo_.collective == CollectiveKind::kAllGather ? num_gpus_ : 1;
    const uint64_t out = algo_.collective == CollectiveKind::kReduceScatter ? num_gpus_ : 1;
    const auto check = [&](const char* attribute, uint64_t chunks) {
      if (chunks == 0 || chunks == algo_.chunks_per_loop) return;
      e.fail(attribute, fmt::format("makes {} chunks of the whole buffer, but nchunksperloop is {}",
                                    chunks, algo_.chunks_per_loop));
    };
    check("i_chunks", gpu.input_chunks * in);
    check("o_chunks", gpu.output_chunks * out);
  }

  static void read_scratch(XmlElement e, Gpu& gpu) {
    for (std::string_view word : list_of(e, "tutti_scratch")) {
      const bool any = word.starts_with("any");
      if (any) word.remove_prefix(3);
      const auto chunk = any ? kAnyChunk.value : take_xml_number(word);
      uint32_t count = 1;
      if (word.starts_with("*")) {
        word.remove_prefix(1);
        count = take_xml_number(word).value_or(0);
      }
      const bool fits = count <= gpu.scratch_chunks - gpu.hint_scratch.size();
      if (!chunk || !word.empty() || count == 0 || !fits) {
        e.fail("tutti_scratch", "must be like \"3*2 any\", and not more than s_chunks");
        return;
      }
      gpu.hint_scratch.insert(gpu.hint_scratch.end(), count, ChunkId{*chunk});
    }
  }

  Block read_block(XmlElement e) {
    Block block;
    block.line = e.line();
    block.send = read_peer(e, "send");
    block.recv = read_peer(e, "recv");
    // msccl-tools writes -1 for a thread block that talks to nobody.
    const bool local = block.send < 0 && block.recv < 0;
    const int64_t channel = e.integer("chan", local ? -1 : 0, kMaxChannels - 1);
    block.channel = channel < 0 ? 0 : static_cast<uint32_t>(channel);
    block.hint_lane = static_cast<int32_t>(e.integer_or("tutti_lane", -1, 0, kMaxBlocks - 1));
    bool in_nops = false;
    e.for_each("step", [&](XmlElement step) {
      Row row = read_row(step, block);
      const bool waits = row.dep_block >= 0;
      if (in_nops && !waits) {
        step.fail("depid", "the step after a nop must wait for something itself");
      }
      if (row.type == RowType::kNop && !waits) {
        step.fail("depid", "a nop that waits for nothing makes MSCCL count steps wrongly");
      }
      in_nops = row.type == RowType::kNop;
      block.rows.push_back(std::move(row));
    });
    return block;
  }

  int32_t read_peer(XmlElement e, const char* attribute) const {
    const auto peer = static_cast<int32_t>(e.integer(attribute, -1, num_gpus_ - 1));
    if (peer == static_cast<int32_t>(algo_.gpus.size())) e.fail(attribute, "is the gpu itself");
    return peer;
  }

  static Row read_row(XmlElement e, const Block& block) {
    Row row;
    row.line = e.line();
    if (static_cast<size_t>(e.integer("s", 0, kMaxRows - 1)) != block.rows.size()) {
      e.fail("s", fmt::format("steps are listed in order; {} comes here", block.rows.size()));
    }
    const std::string_view name = e.text("type");
    const auto type = parse_row_type(name);
    if (!type) e.fail("type", fmt::format("there is no step type '{}' that MSCCL runs", name));
    row.type = type.value_or(RowType::kNop);
    row.dep_block = static_cast<int32_t>(e.integer("depid", -1, kMaxBlocks - 1));
    row.dep_row = static_cast<int32_t>(e.integer("deps", -1, kMaxRows - 1));
    row.has_dep = e.integer("hasdep", 0, 1) != 0;
    if (row.dep_block >= 0 && row.dep_row < 0) e.fail("deps", "names no step of the thread block");
    if (row.dep_block < 0) row.dep_row = -1;
    read_regions(e, row);
    read_hints(e, row);
    if (row.type == RowType::kNop) return row;
    const StepKind kind = step_kind(row.type);
    if (sends(kind) && block.send < 0) e.fail("type", "sends, but its <tb> has no send peer");
    if (receives(kind) && block.recv < 0) e.fail("type", "receives, but its <tb> has no recv peer");
    return row;
  }

  static void read_regions(XmlElement e, Row& row) {
    const auto read = [&](const char* buffer_name, const char* offset_name, bool used,
                          Buffer& buffer, uint32_t& offset) {
      const auto known = parse_buffer_letter(e.text(buffer_name));
      if (!known) e.fail(buffer_name, "must be i, o or s");
      const int64_t at = e.integer(offset_name, used ? 0 : INT32_MIN, used ? kMaxOffset : kAnyInt);
      buffer = used ? known.value_or(Buffer::kInput) : Buffer::kInput;
      offset = used ? static_cast<uint32_t>(at) : 0;
    };
    const bool nop = row.type == RowType::kNop;
    const bool reads = !nop && reads_src(step_kind(row.type));
    const bool writes = !nop && writes_dst(step_kind(row.type));
    read("srcbuf", "srcoff", reads, row.src_buffer, row.src_offset);
    read("dstbuf", "dstoff", writes, row.dst_buffer, row.dst_offset);
    const int64_t count = e.integer("cnt", nop ? INT32_MIN : 1, nop ? kAnyInt : kMaxCount);
    row.count = nop ? 0 : static_cast<uint32_t>(count);
  }

  static void read_hints(XmlElement e, Row& row) {
    row.hint_step = static_cast<int32_t>(e.integer_or("tutti_step", -1, 0, kAnyInt));
    for (std::string_view word : list_of(e, "tutti_after")) {
      const auto lane = take_xml_number(word);
      const bool dot = word.starts_with(".");
      if (dot) word.remove_prefix(1);
      const auto step = take_xml_number(word);
      if (!lane || !dot || !step || !word.empty()) {
        e.fail("tutti_after", "must be like \"0.3 1.2\"");
        return;
      }
      row.hint_after.push_back({*lane, *step});
    }
  }

  // MSCCL waits forever for a row that is not there or that never raises its flag.
  void check_waits() {
    for (uint32_t g = 0; g < algo_.gpus.size(); ++g) {
      const auto& blocks = algo_.gpus[g].blocks;
      for (const Block& block : blocks) {
        for (const Row& row : block.rows) {
          if (row.dep_block < 0) continue;
          const auto target = static_cast<size_t>(row.dep_block);
          const auto number = static_cast<size_t>(row.dep_row);
          const bool exists = target < blocks.size() && number < blocks[target].rows.size() &&
                              blocks[target].rows[number].type != RowType::kNop;
          if (exists && blocks[target].rows[number].has_dep) continue;
          file_.fail(row.line, fmt::format("<step> depid, deps: tb {} step {} of gpu {} {}",
                                           row.dep_block, row.dep_row, g,
                                           exists ? "has hasdep=\"0\"" : "is no step to wait for"));
        }
      }
    }
  }

  XmlFile file_;
  Algo algo_;
  uint32_t num_gpus_ = 0;
  uint64_t num_scratch_ = 0;
};

}  // namespace

Result<Algo> read_algo(std::string_view text, std::string source) {
  return XmlReader(std::move(source)).read(text);
}

}  // namespace tutti::ir::msccl
