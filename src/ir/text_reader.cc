// A straight list of demands on the JSON document; the document keeps the first one that was not
// met. What is only visible from afar (a region outside its buffer) is left to check_shape, and
// its complaint is given the line of the step.
#include <fmt/format.h>

#include <charconv>

#include "base/json_document.h"
#include "base/try.h"
#include "ir/shape.h"
#include "ir/text.h"

namespace tutti::ir {
namespace {

using base::JsonValue;

// A short text can ask for any number of scratch positions ("any*4000000000"), so there is a bound
// for all ranks together: 256 MiB of them.
constexpr uint64_t kMaxScratch = uint64_t{1} << 26;

// Takes a number off the front of the text.
std::optional<uint32_t> take_number(std::string_view& text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// "output[3]" or "output[2:4]", which is positions 2 and 3.
std::optional<Region> parse_region(std::string_view text) {
  const size_t bracket = text.find('[');
  if (bracket == std::string_view::npos) return std::nullopt;
  const std::optional<Buffer> buffer = parse_buffer(text.substr(0, bracket));
  text.remove_prefix(bracket + 1);
  const std::optional<uint32_t> begin = take_number(text);
  if (!buffer || !begin) return std::nullopt;
  uint32_t count = 1;
  if (take(text, ":")) {
    const std::optional<uint32_t> end = take_number(text);
    if (!end || *end <= *begin) return std::nullopt;
    count = *end - *begin;
  }
  if (text != "]") return std::nullopt;
  return Region{*buffer, *begin, count};
}

class Reader {
 public:
  Schedule read(JsonValue root) {
    root.only_fields({"tutti_schedule", "name", "collective", "num_ranks", "root", "peer",
                      "chunks_per_block", "slots", "placement", "ranks"});
    const JsonValue version = root.field("tutti_schedule");
    if (version.uint32(0, UINT32_MAX) != 1 && version.exists()) {
      version.fail("this program reads version 1 of the format");
    }
    schedule_.name = root.field("name").string();
    read_collective(root);
    schedule_.chunks_per_block = root.field("chunks_per_block").uint32(1, UINT32_MAX - 1);
    schedule_.slots = root.field("slots").uint32(0, UINT32_MAX);
    read_placement(root.field("placement"));
    read_ranks(root.field("ranks"));
    return std::move(schedule_);
  }

 private:
  void read_collective(JsonValue root) {
    Collective& c = schedule_.collective;
    const JsonValue kind = root.field("collective");
    const auto known = parse_collective_kind(kind.string());
    if (kind.is_string() && !known) {
      kind.fail(fmt::format("there is no collective '{}'", kind.string()));
    }
    c.kind = known.value_or(CollectiveKind::kAllReduce);
    c.num_ranks = root.field("num_ranks").uint32(1, UINT32_MAX);
    c.root = only_if(root, "root", is_rooted(c.kind));
    c.peer = only_if(root, "peer", c.kind == CollectiveKind::kSendRecv);
  }

  uint32_t only_if(JsonValue root, const char* name, bool wanted) const {
    if (wanted) return root.field(name).uint32(0, schedule_.collective.num_ranks - 1);
    const JsonValue stray = root.optional(name);
    if (stray.exists()) {
      stray.fail(fmt::format("{} has none", to_string(schedule_.collective.kind)));
    }
    return 0;
  }

  void read_placement(JsonValue value) {
    const auto placement = parse_placement(value.string());
    if (value.is_string() && !placement) {
      value.fail("must be 'out_of_place', 'in_place' or 'either'");
    }
    schedule_.placement = placement.value_or(Placement::kEither);
  }

  void read_ranks(JsonValue ranks) {
    const size_t num_ranks = ranks.size();
    if (ranks.exists() && num_ranks != schedule_.collective.num_ranks) {
      ranks.fail(
          fmt::format("has {} entries for {} ranks", num_ranks, schedule_.collective.num_ranks));
      return;
    }
    schedule_.ranks.resize(num_ranks);
    for (size_t r = 0; r < num_ranks; ++r) {
      const JsonValue value = ranks.at(r);
      value.only_fields({"rank", "scratch", "lanes"});
      const JsonValue number = value.field("rank");
      if (number.exists() && number.uint32(0, UINT32_MAX) != r) {
        number.fail(fmt::format("ranks are listed in order; {} comes here", r));
      }
      read_scratch(value.optional("scratch"), schedule_.ranks[r].scratch);
      read_lanes(value.field("lanes"), schedule_.ranks[r]);
    }
  }

  void read_scratch(JsonValue list, std::vector<ChunkId>& scratch) {
    const size_t num_runs = list.size();
    for (size_t i = 0; i < num_runs; ++i) {
      const JsonValue value = list.at(i);
      if (!append_run(value.string(), scratch) && value.is_string()) {
        value.fail("must be like \"5\", \"any\", \"0:8\" or \"any*4\", and not too many");
        return;
      }
    }
  }

  bool append_run(std::string_view text, std::vector<ChunkId>& scratch) {
    const bool any = take(text, "any");
    const std::optional<uint32_t> first = any ? kAnyChunk.value : take_number(text);
    if (!first) return false;
    uint64_t count = 1;
    uint32_t stride = 0;
    if (take(text, "*")) {
      count = take_number(text).value_or(0);
    } else if (!any && take(text, ":")) {
      const uint32_t end = take_number(text).value_or(0);
      count = end > *first ? end - *first : 0;
      stride = 1;
    }
    num_scratch_ += count;
    if (!text.empty() || count == 0 || num_scratch_ > kMaxScratch) return false;
    for (uint64_t i = 0; i < count; ++i) {
      scratch.push_back(ChunkId{*first + static_cast<uint32_t>(i) * stride});
    }
    return true;
  }

  void read_lanes(JsonValue lanes, RankProgram& program) {
    const size_t num_lanes = lanes.size();
    program.lanes.resize(num_lanes);
    for (size_t l = 0; l < num_lanes; ++l) {
      const JsonValue value = lanes.at(l);
      value.only_fields({"channel", "steps"});
      Lane& lane = program.lanes[l];
      lane.channel = value.field("channel").uint32(0, UINT32_MAX);
      const JsonValue steps = value.field("steps");
      const size_t num_steps = steps.size();
      lane.steps.reserve(num_steps);
      for (size_t s = 0; s < num_steps; ++s) lane.steps.push_back(read_step(steps.at(s), program));
    }
  }

  Step read_step(JsonValue value, RankProgram& program) {
    value.only_fields({"step", "src", "dst", "from", "to", "after"});
    const JsonValue kind = value.field("step");
    const auto known = parse_step_kind(kind.string());
    if (kind.is_string() && !known) kind.fail(fmt::format("there is no step '{}'", kind.string()));
    Step step;
    step.kind = known.value_or(StepKind::kCopy);
    read_regions(value, step);
    step.recv_peer = read_peer(value, step.kind, "from", receives(step.kind));
    step.send_peer = read_peer(value, step.kind, "to", sends(step.kind));
    read_deps(value.optional("after"), program, step);
    return step;
  }

  // Only a send or a recv may name no region: it is then a message without data.
  void read_regions(JsonValue value, Step& step) const {
    const bool may_be_empty = step.kind == StepKind::kSend || step.kind == StepKind::kRecv;
    const auto read = [&](const char* name, bool used) -> std::optional<Region> {
      const JsonValue text = used && !may_be_empty ? value.field(name) : value.optional(name);
      if (!text.exists()) return std::nullopt;
      if (!used) text.fail(fmt::format("a {} has none", to_string(step.kind)));
      const auto region = parse_region(text.string());
      if (!region && text.is_string()) text.fail("must be like \"output[3]\" or \"output[2:4]\"");
      return region;
    };
    const auto src = read("src", reads_src(step.kind));
    const auto dst = read("dst", writes_dst(step.kind));
    if (src && dst && src->count != dst->count) {
      value.fail(fmt::format("src has {} chunks and dst {}", src->count, dst->count));
    }
    step.num_chunks = src ? src->count : dst ? dst->count : 0;
    if (src) step.src_buffer = src->buffer;
    if (src) step.src_index = src->index;
    if (dst) step.dst_buffer = dst->buffer;
    if (dst) step.dst_index = dst->index;
  }

  static Rank read_peer(JsonValue value, StepKind kind, const char* name, bool used) {
    if (used) return Rank{value.field(name).uint32(0, UINT32_MAX - 1)};
    const JsonValue stray = value.optional(name);
    if (stray.exists()) stray.fail(fmt::format("a {} has none", to_string(kind)));
    return kNoRank;
  }

  static void read_deps(JsonValue after, RankProgram& program, Step& step) {
    const size_t num_deps = after.size();
    if (num_deps == 0) return;
    step.first_dep = static_cast<uint32_t>(program.deps.size());
    step.num_deps = static_cast<uint32_t>(num_deps);
    for (size_t i = 0; i < num_deps; ++i) {
      const JsonValue pair = after.at(i);
      if (pair.size() != 2 && pair.is_array()) pair.fail("must be [lane, step]");
      if (pair.size() != 2) return;
      program.deps.push_back({pair.at(0).uint32(0, UINT32_MAX), pair.at(1).uint32(0, UINT32_MAX)});
    }
  }

  Schedule schedule_;
  uint64_t num_scratch_ = 0;
};

// The place in the text that a complaint of check_shape is about.
JsonValue value_of(JsonValue root, const std::optional<StepPlace>& place) {
  const JsonValue ranks = root.field("ranks");
  if (!place) return root;
  return ranks.at(place->rank.value)
      .field("lanes")
      .at(place->ref.lane)
      .field("steps")
      .at(place->ref.step);
}

}  // namespace

Result<Schedule> from_text(std::string_view text, std::string source) {
  TUTTI_ASSIGN(const auto document, base::JsonDocument::parse(text, std::move(source)));
  Schedule schedule = Reader().read(document->root());
  TUTTI_TRY(document->status());
  std::optional<StepPlace> where;
  if (const Status shape = check_shape(schedule, &where); !shape) {
    value_of(document->root(), where).fail(shape.error().message);
    TUTTI_TRY(document->status());
  }
  return schedule;
}

}  // namespace tutti::ir
