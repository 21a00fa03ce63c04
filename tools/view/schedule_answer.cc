// A schedule as the page draws it: steps, verdict, history.
#include <bit>
#include <optional>
#include <utility>

#include "base/try.h"
#include "tools/view/answers.h"
#include "tools/view/course_json.h"
#include "verify/history.h"
#include "verify/overview.h"

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

// Parents by rank; -1 at the root.
ordered_json trees_json(const std::vector<PlannedTree>& trees) {
  ordered_json json = ordered_json::array();
  for (const auto& [tree, share] : trees) {
    ordered_json parents = ordered_json::array();
    for (const uint32_t parent : tree.parent) {
      parents.push_back(parent == plan::packing::kNoParent ? int64_t{-1} : int64_t{parent});
    }
    json.push_back({{"root", tree.root},
                    {"parents", std::move(parents)},
                    {"depth", plan::packing::depth(tree)},
                    {"share", share}});
  }
  return json;
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
  ordered_json json = course_json(history);
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
  return json;
}

// Up to this many ranks every cell is drawn, if a browser can.
constexpr uint32_t kMostRanksInDetail = 64;
constexpr uint64_t kMostHeld = 400'000;

Result<std::optional<ir::Placement>> placement_of(const Question& question) {
  const std::string text = text_of(question, "placement");
  if (text.empty()) return std::optional<ir::Placement>{};
  const std::optional<ir::Placement> placement = ir::parse_placement(text);
  if (placement) return placement;
  return Error{ErrorCode::kInvalidArgument,
               "placement: write in_place or out_of_place, not '" + text + "'"};
}

void add_verdict(const verify::Course& course, ordered_json& json) {
  json["proved"] = !course.refusal.has_value();
  if (course.refusal) json["refusal"] = refusal_json(*course.refusal);
}

// What lessons.js asks about the ranks of a step, besides what the step does: whether both are of
// one server, and which of them sit out because their number is no power of two.
verify::TraitOf traits_for_lessons(uint32_t num_ranks, uint32_t server) {
  const uint32_t left_over = num_ranks - std::bit_floor(num_ranks);
  const auto sits_out = [=](Rank rank) {
    return rank.value % 2 == 0 && rank.value < 2 * left_over;
  };
  return [=](Rank rank, const ir::Step& step) {
    uint32_t trait = sits_out(rank) ? 1 : 0;
    const auto add = [&](Rank peer) {
      const bool is_near = rank.value / server == peer.value / server;
      trait = trait << 3 | 4u | (sits_out(peer) ? 2u : 0u) | (is_near ? 1u : 0u);
    };
    if (ir::receives(step.kind)) add(step.recv_peer);
    if (ir::sends(step.kind)) add(step.send_peer);
    return trait;
  };
}

constexpr uint32_t kUsualServer = 8;  // USUAL_GROUP of learn.js

struct Replay {
  std::optional<ir::Placement> placement;
  uint32_t server = kUsualServer;  // ranks in it
};

// What happens when, cell by cell, or summed up where that would be too much.
Status add_replay(const ir::Schedule& schedule, const Replay& asked, ordered_json& json) {
  const auto placement = asked.placement;
  if (schedule.collective.num_ranks <= kMostRanksInDetail) {
    const auto history = verify::write_history(schedule, {placement, kMostHeld});
    if (history) {
      add_verdict(*history, json);
      json["lanes"] = lanes_json(schedule);
      json["history"] = history_json(schedule, *history);
      return {};
    }
    if (history.error().code != ErrorCode::kUnsupported) return history.error();
  }
  verify::OverviewOptions options{.placement = placement};
  options.trait_of = traits_for_lessons(schedule.collective.num_ranks, asked.server);
  TUTTI_ASSIGN(const verify::Overview overview, verify::write_overview(schedule, options));
  add_verdict(overview, json);
  json["overview"] = overview_json(overview);
  return {};
}

}  // namespace

Result<ordered_json> answer_schedule(const Shelf& shelf, const Question& question) {
  TUTTI_ASSIGN(const Planned planned, plan_of(shelf, question));
  Replay replay;
  TUTTI_ASSIGN(replay.placement, placement_of(question));
  TUTTI_ASSIGN(const uint64_t server, number_of(question, "group_size", 0));
  if (server != 0) replay.server = static_cast<uint32_t>(server);
  const ir::Schedule& schedule = planned.schedule;
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
                    {"placement", ir::to_string(schedule.placement)}};
  if (!planned.made_for.empty()) json["made_for"] = planned.made_for;
  if (!planned.why.empty()) json["why"] = planned.why;
  if (!planned.trees.empty()) json["trees"] = trees_json(planned.trees);
  TUTTI_TRY(add_replay(schedule, replay, json));
  return json;
}

}  // namespace tutti::view
