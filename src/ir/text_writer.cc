// Millions of steps are ordinary, so everything is appended to one buffer and nothing is built
// in between.
#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "ir/text.h"

namespace tutti::ir {
namespace {

class Writer {
 public:
  std::string write(const Schedule& schedule) && {
    header(schedule);
    for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
      rank(r, schedule.ranks[r]);
      put(r + 1 < schedule.ranks.size() ? ",\n" : "\n");
    }
    put(" ]\n}\n");
    return fmt::to_string(out_);
  }

 private:
  void put(std::string_view text) { out_.append(text); }
  template <class Format, class... Args>
  void format(const Format& text, const Args&... args) {
    fmt::format_to(std::back_inserter(out_), text, args...);
  }

  void header(const Schedule& schedule) {
    const Collective& c = schedule.collective;
    const auto quoted = [](const std::string& text) {
      return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    };
    format(FMT_COMPILE("{{\n \"tutti_schedule\": 1,\n \"name\": {},\n"), quoted(schedule.name));
    format(FMT_COMPILE(" \"collective\": \"{}\",\n \"num_ranks\": {},\n"), to_string(c.kind),
           c.num_ranks);
    if (is_rooted(c.kind)) format(FMT_COMPILE(" \"root\": {},\n"), c.root);
    if (c.kind == CollectiveKind::kSendRecv) format(FMT_COMPILE(" \"peer\": {},\n"), c.peer);
    format(FMT_COMPILE(" \"chunks_per_block\": {},\n \"slots\": {},\n \"placement\": \"{}\",\n"),
           schedule.chunks_per_block, schedule.slots, to_string(schedule.placement));
    put(" \"ranks\": [\n");
  }

  void rank(uint32_t index, const RankProgram& program) {
    format(FMT_COMPILE("  {{\"rank\": {},"), index);
    if (!program.scratch.empty()) scratch(program.scratch);
    put(" \"lanes\": [");
    for (size_t i = 0; i < program.lanes.size(); ++i) {
      put(i == 0 ? "\n" : ",\n");
      lane(program, program.lanes[i]);
    }
    put("]}");
  }

  // Runs of following chunks are "2:7", of one chunk "2*5", single positions "2".
  void scratch(const std::vector<ChunkId>& sizes) {
    const char* separator = " \"scratch\": [";
    for (size_t i = 0; i < sizes.size();) {
      const size_t same = run(sizes, i, 0);
      const size_t following = sizes[i] == kAnyChunk ? 1 : run(sizes, i, 1);
      put(separator);
      separator = ", ";
      put("\"");
      sizes[i] == kAnyChunk ? put("any") : format(FMT_COMPILE("{}"), sizes[i].value);
      if (same > 1) format(FMT_COMPILE("*{}"), same);
      if (same == 1 && following > 1) format(FMT_COMPILE(":{}"), sizes[i].value + following);
      put("\"");
      i += same > 1 ? same : following;
    }
    put("],");
  }

  static size_t run(const std::vector<ChunkId>& sizes, size_t begin, uint32_t stride) {
    size_t end = begin + 1;
    while (end < sizes.size() && sizes[end].value == sizes[end - 1].value + stride) ++end;
    return end - begin;
  }

  void lane(const RankProgram& program, const Lane& lane) {
    format(FMT_COMPILE("   {{\"channel\": {}, \"steps\": ["), lane.channel);
    for (size_t i = 0; i < lane.steps.size(); ++i) {
      put(i == 0 ? "\n" : ",\n");
      step(program, lane.steps[i]);
    }
    put("]}");
  }

  void step(const RankProgram& program, const Step& step) {
    format(FMT_COMPILE("    {{\"step\": \"{}\""), to_string(step.kind));
    if (reads_src(step.kind)) region("src", step.src());
    if (writes_dst(step.kind)) region("dst", step.dst());
    if (receives(step.kind)) format(FMT_COMPILE(", \"from\": {}"), step.recv_peer.value);
    if (sends(step.kind)) format(FMT_COMPILE(", \"to\": {}"), step.send_peer.value);
    if (step.num_deps > 0) {
      const char* separator = ", \"after\": [";
      for (StepRef dep : program.deps_of(step)) {
        format(FMT_COMPILE("{}[{}, {}]"), separator, dep.lane, dep.step);
        separator = ", ";
      }
      put("]");
    }
    put("}");
  }

  void region(const char* field, Region region) {
    if (region.count == 0) return;
    format(FMT_COMPILE(", \"{}\": \"{}[{}"), field, to_string(region.buffer), region.index);
    if (region.count > 1) format(FMT_COMPILE(":{}"), uint64_t{region.index} + region.count);
    put("]\"");
  }

  fmt::memory_buffer out_;
};

}  // namespace

std::string to_text(const Schedule& schedule) { return Writer().write(schedule); }

}  // namespace tutti::ir
