// A schedule as the page draws it: steps, verdict, history.
#include <utility>

#include "base/try.h"
#include "tools/view/answers.h"
#include "verify/history.h"

namespace tutti::view {
namespace {

std::string region_text(ir::Region region) {
  if (region.count == 0) return "";
  std::string text(ir::to_string(region.buffer));
  text += "[" + std::to_string(region.index);
  if (region.count != 1) text += ":" + std::to_string(region.index + region.count);
  return text + "]";
}

ordered_json step_json(const ir::Step& step) {
  ordered_json json{{"kind", ir::to_string(step.kind)}};
  if (ir::reads_src(step.kind)) json["src"] = region_text(step.src());
  if (ir::writes_dst(step.kind)) json["dst"] = region_text(step.dst());
  if (ir::receives(step.kind)) json["from"] = step.recv_peer.value;
  if (ir::sends(step.kind)) json["to"] = step.send_peer.value;
  return json;
}

ordered_json lanes_json(const ir::Schedule& schedule) {
  ordered_json ranks = ordered_json::array();
  for (const ir::RankProgram& program : schedule.ranks) {
    ordered_json lanes = ordered_json::array();
    for (const ir::Lane& lane : program.lanes) {
      ordered_json steps = ordered_json::array();
      for (const ir::Step& step : lane.steps) steps.push_back(step_json(step));
      lanes.push_back({{"channel", lane.channel}, {"steps", std::move(steps)}});
    }
    ranks.push_back(std::move(lanes));
  }
  return ranks;
}

// -1 stands for what is not there: a chunk of a cell that was never written.
ordered_json held_json(verify::Held held) {
  const bool is_empty = held.chunk == ir::kAnyChunk;
  return {is_empty ? int64_t{-1} : int64_t{held.chunk.value}, held.set};
}

ordered_json writes_json(const std::vector<verify::CellWrite>& writes) {
  ordered_json json = ordered_json::array();
  for (const verify::CellWrite& write : writes) {
    ordered_json entry = held_json(write.value);
    entry.insert(entry.begin(), write.cell);
    json.push_back(std::move(entry));
  }
  return json;
}

ordered_json name_json(const verify::StepName& name) {
  return {name.rank.value, name.step.lane, name.step.step};
}

ordered_json names_json(const std::vector<verify::StepName>& names) {
  ordered_json json = ordered_json::array();
  for (const verify::StepName& name : names) json.push_back(name_json(name));
  return json;
}

ordered_json messages_json(const std::vector<verify::Message>& messages) {
  ordered_json json = ordered_json::array();
  for (const verify::Message& message : messages) {
    ordered_json data = ordered_json::array();
    for (verify::Held held : message.data) data.push_back(held_json(held));
    json.push_back({{"sender", name_json(message.sender)},
                    {"taker", name_json(message.taker)},
                    {"sent_in", message.sent_in},
                    {"data", std::move(data)}});
  }
  return json;
}

ordered_json refusal_json(const verify::Refusal& refusal) {
  ordered_json json{{"rule", verify::to_string(refusal.rule)}, {"message", refusal.message}};
  if (refusal.rank != kNoRank) json["rank"] = refusal.rank.value;
  if (refusal.has_step) {
    json["lane"] = refusal.step.lane;
    json["step"] = refusal.step.step;
  }
  return json;
}

// A buffer is where it begins and how many cells it has; the cells of a rank's buffers may overlap.
ordered_json memory_json(const ir::Schedule& schedule, const verify::History& history) {
  const auto layout = ir::Layout::create(schedule.collective, schedule.chunks_per_block);
  ordered_json json = ordered_json::array();
  for (uint32_t r = 0; r < history.memory.size(); ++r) {
    const verify::RankMemory& memory = history.memory[r];
    const uint32_t num_input = layout->num_chunks(Rank{r}, ir::Buffer::kInput);
    const uint32_t num_output = layout->num_chunks(Rank{r}, ir::Buffer::kOutput);
    json.push_back({{"input", {memory.begin[0], num_input}},
                    {"output", {memory.begin[1], num_output}},
                    {"scratch", {memory.begin[2], schedule.ranks[r].scratch.size()}}});
    if (history.first_heard) json.back()["heard"] = {*history.first_heard + r, 1};
  }
  return json;
}

ordered_json history_json(const ir::Schedule& schedule, const verify::History& history) {
  ordered_json json{{"discipline", verify::to_string(history.discipline)},
                    {"placement", ir::to_string(history.placement)}};
  json["sets"] = ordered_json::array();
  for (const auto& ranges : history.sets) {
    ordered_json set = ordered_json::array();
    for (const auto& range : ranges) set.push_back({range.begin, range.end});
    json["sets"].push_back(std::move(set));
  }
  json["memory"] = memory_json(schedule, history);
  json["start"] = writes_json(history.start);
  json["wanted"] = writes_json(history.wanted);
  json["rounds"] = ordered_json::array();
  for (const verify::Round& round : history.rounds) {
    json["rounds"].push_back({{"steps", names_json(round.steps)},
                              {"writes", writes_json(round.writes)},
                              {"messages", messages_json(round.arrived)}});
  }
  json["never_taken"] = messages_json(history.never_taken);
  json["stuck"] = names_json(history.stuck);
  if (history.stopped_by) json["stopped_by"] = refusal_json(*history.stopped_by);
  return json;
}

}  // namespace

Result<ordered_json> answer_schedule(const Shelf& shelf, const Question& question) {
  TUTTI_ASSIGN(const ir::Schedule schedule, schedule_of(shelf, question));
  verify::HistoryOptions options;
  options.max_held = 400'000;  // what a browser draws without getting slow
  if (const std::string text = text_of(question, "placement"); !text.empty()) {
    options.placement = ir::parse_placement(text);
    if (!options.placement) {
      return Error{ErrorCode::kInvalidArgument,
                   "placement: write in_place or out_of_place, not '" + text + "'"};
    }
  }
  TUTTI_ASSIGN(const verify::History history, verify::write_history(schedule, options));
  const Collective& collective = schedule.collective;
  ordered_json json{{"schema", kSchemaVersion},
                    {"collective", to_string(collective.kind)},
                    {"algorithm", schedule.name},
                    {"ranks", collective.num_ranks},
                    {"root", collective.root},
                    {"peer", collective.peer},
                    {"rooted", is_rooted(collective.kind)},
                    {"reducing", is_reducing(collective.kind)},
                    {"chunks_per_block", schedule.chunks_per_block},
                    {"slots", schedule.slots},
                    {"placement", ir::to_string(schedule.placement)},
                    {"proved", !history.refusal.has_value()}};
  if (history.refusal) json["refusal"] = refusal_json(*history.refusal);
  json["lanes"] = lanes_json(schedule);
  json["history"] = history_json(schedule, history);
  return json;
}

}  // namespace tutti::view
