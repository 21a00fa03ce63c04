#include "tools/view/course_json.h"

#include "ir/step.h"

namespace tutti::view {

using nlohmann::ordered_json;

namespace {

// Under the names that doing.js has for them; what is false or missing is left out.
ordered_json doing_json(const verify::Doing& doing) {
  const ir::Step& step = doing.step;
  ordered_json json{{"kind", ir::to_string(step.kind)}, {"rank", doing.rank.value}};
  if (ir::receives(step.kind)) json["from"] = step.recv_peer.value;
  if (ir::sends(step.kind)) json["to"] = step.send_peer.value;
  if (ir::writes_dst(step.kind)) json["writes"] = ir::to_string(step.dst_buffer);
  const auto add = [&](const char* name, bool is) {
    if (is) json[name] = true;
  };
  add("gives_whole", doing.gives_whole);
  add("takes_whole", doing.takes_whole);
  add("gives_taken", doing.gives_taken);
  add("gives_its_own", doing.gives_its_own);
  add("takes_its_own", doing.takes_its_own);
  return json;
}

ordered_json doings_json(const std::vector<verify::Doing>& doings) {
  ordered_json json = ordered_json::array();
  for (const verify::Doing& doing : doings) json.push_back(doing_json(doing));
  return json;
}

ordered_json overview_round_json(const verify::OverviewRound& round) {
  ordered_json changes = ordered_json::array();
  for (const verify::LevelChange& change : round.changes) {
    changes.push_back(change.field);
    changes.push_back(change.level);
  }
  ordered_json traffic = ordered_json::array();
  for (const verify::RowTraffic& its : round.traffic) {
    traffic.push_back(its.from);
    traffic.push_back(its.to);
    traffic.push_back(its.num_messages);
  }
  ordered_json right = ordered_json::array();
  for (const verify::RowRight& row : round.right) {
    right.push_back(row.row);
    right.push_back(row.num_right);
  }
  return {{"steps", round.num_steps},
          {"messages", round.num_messages},
          {"doings", doings_json(round.doings)},
          {"changes", std::move(changes)},
          {"traffic", std::move(traffic)},
          {"right", std::move(right)}};
}

}  // namespace

ordered_json refusal_json(const verify::Refusal& refusal) {
  ordered_json json{{"rule", verify::to_string(refusal.rule)}, {"message", refusal.message}};
  if (refusal.rank != kNoRank) json["rank"] = refusal.rank.value;
  if (refusal.has_step) {
    json["lane"] = refusal.step.lane;
    json["step"] = refusal.step.step;
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

ordered_json course_json(const verify::Course& course) {
  ordered_json json{{"discipline", verify::to_string(course.discipline)},
                    {"placement", ir::to_string(course.placement)},
                    {"stuck", names_json(course.stuck)}};
  if (course.stopped_by) json["stopped_by"] = refusal_json(*course.stopped_by);
  return json;
}

ordered_json overview_json(const verify::Overview& overview) {
  ordered_json json = course_json(overview);
  json["rows"] = overview.row_begin;
  json["columns"] = overview.column_begin;
  json["start"] = overview.start;
  json["results"] = overview.num_results;
  json["right"] = overview.right_at_start;
  json["rounds"] = ordered_json::array();
  for (const verify::OverviewRound& round : overview.rounds) {
    json["rounds"].push_back(overview_round_json(round));
  }
  json["wrong"] = overview.wrong_fields;
  return json;
}

}  // namespace tutti::view
