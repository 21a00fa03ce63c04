#include "tools/plan_front.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "tools/terminal.h"

namespace tutti::tools {
namespace {

using nlohmann::ordered_json;

// "packed, chunks 8"
std::string name_of(const ordered_json& candidate) {
  std::string text = candidate.at("algorithm").get<std::string>();
  for (const auto& [option, value] : candidate.at("options").items()) {
    text += fmt::format(", {} {}", option, value.get<uint64_t>());
  }
  return text;
}

// A summary from the cache may be anything.
bool are_candidates(const ordered_json& summary) {
  if (!summary.contains("candidates") || !summary["candidates"].is_array()) return false;
  const auto is_candidate = [](const ordered_json& each) {
    return each.is_object() && each.contains("algorithm") && each["algorithm"].is_string() &&
           each.contains("steps") && each["steps"].is_number_unsigned() &&
           each.contains("options") && each["options"].is_object() &&
           std::all_of(each["options"].begin(), each["options"].end(),
                       [](const ordered_json& value) { return value.is_number_unsigned(); }) &&
           (!each.contains("time_ns") || each["time_ns"].is_number());
  };
  return std::all_of(summary["candidates"].begin(), summary["candidates"].end(), is_candidate);
}

// Candidates come fastest first, so each that has fewer steps than all before it is on the front.
ordered_json front_of(const ordered_json& candidates) {
  ordered_json front = ordered_json::array();
  uint64_t fewest = UINT64_MAX;
  for (const ordered_json& candidate : candidates) {
    const bool was_tried = candidate.contains("time_ns");
    if (!was_tried || candidate.at("steps").get<uint64_t>() >= fewest) continue;
    fewest = candidate.at("steps").get<uint64_t>();
    front.push_back(candidate);
  }
  return front;
}

}  // namespace

std::vector<uint64_t> front_sizes() {
  std::vector<uint64_t> sizes;
  for (uint64_t bytes = 1 << 10; bytes <= 1 << 30; bytes *= 4) sizes.push_back(bytes);
  return sizes;
}

Result<Front> make_front(const std::function<Result<PlanAnswer>(uint64_t bytes)>& answer) {
  Table table({"size", "plan", "steps", "simulated", "rate"});
  ordered_json json = ordered_json::array();
  size_t num_cached = 0;
  for (const uint64_t bytes : front_sizes()) {
    TUTTI_ASSIGN(const PlanAnswer best, answer(bytes));
    if (!are_candidates(best.summary)) {
      return Error{
          ErrorCode::kRefused,
          fmt::format("what the cache has of {} is no list of candidates; --no-cache plans "
                      "anew",
                      format_bytes(bytes))};
    }
    if (best.summary.value("from_cache", false)) ++num_cached;
    const ordered_json front = front_of(best.summary.at("candidates"));
    std::string size = format_bytes(bytes);
    for (const ordered_json& candidate : front) {
      const double ns = candidate.at("time_ns");
      table.add({std::exchange(size, ""), name_of(candidate),
                 fmt::format("{}", candidate.at("steps").get<uint64_t>()), format_ns(ns),
                 ns > 0 ? format_gbps(static_cast<double>(bytes) / ns) : "-"});
    }
    json.push_back({{"bytes", bytes}, {"front", front}});
  }
  const std::string kept = fmt::format(
      "{} of {} sizes from the cache; --bytes SIZE -o FILE writes "
      "the fastest plan of a size.\n",
      num_cached, front_sizes().size());
  return Front{table.text() + kept, {{"from_cache", num_cached}, {"sizes", std::move(json)}}};
}

}  // namespace tutti::tools
