#include "comm/tuning_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/json_document.h"
#include "base/try.h"
#include "plan/algorithm.h"
#include "trace/quoted.h"

namespace tutti::comm {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "tutti-tuning";
constexpr uint32_t kVersion = 1;
constexpr std::string_view kDefault = "default";

// Far more than anybody measures; a file beyond them is not a table.
constexpr uintmax_t kMaxFileBytes = uintmax_t{16} << 20;
constexpr size_t kMaxRules = 1u << 16;
constexpr uint32_t kMaxRanks = 4096;
constexpr uint32_t kMaxChunks = 1024;
// Every pair of ranks may exchange every piece, and a schedule has room for 2^27 steps.
constexpr uint64_t kMaxPieces = uint64_t{1} << 24;
constexpr double kMaxUs = 1e12;

uint32_t most_chunks(uint32_t num_ranks) {
  const uint64_t pairs = uint64_t{num_ranks} * num_ranks;
  return static_cast<uint32_t>(
      std::min<uint64_t>(kMaxChunks, kMaxPieces / std::max<uint64_t>(pairs, 1)));
}

// An option that the algorithm does not take is misspelt or meant for another.
uint32_t read_option(base::JsonValue rule, const char* name, bool is_taken,
                     std::pair<uint32_t, uint32_t> limits) {
  const auto value = rule.optional(name);
  if (!value.exists()) return 0;
  if (!is_taken) {
    value.fail(fmt::format("{} {} takes no {}", rule.field("collective").string(),
                           rule.field("algorithm").string(), name));
    return 0;
  }
  return value.uint32(limits.first, limits.second);
}

std::optional<Choice> read_choice(base::JsonValue json, CollectiveKind kind, uint32_t num_ranks) {
  const auto name = json.field("algorithm");
  if (!name.is_string()) {
    static_cast<void>(name.string());
    return std::nullopt;
  }
  plan::Algorithm none{};  // takes no options
  const plan::Algorithm* algorithm = &none;
  if (name.string() != kDefault) {
    const auto found = plan::find_algorithm(kind, name.string());
    if (!found) {
      name.fail(found.error().message);
      return std::nullopt;
    }
    algorithm = *found;
  }
  Choice choice{algorithm->name};
  choice.options.chunks =
      read_option(json, "chunks", algorithm->takes_chunks, {1, most_chunks(num_ranks)});
  choice.options.radix = read_option(json, "radix", algorithm->takes_radix, {2, kMaxRanks});
  choice.options.group_size =
      read_option(json, "group_size", algorithm->takes_group_size, {1, num_ranks});
  return algorithm == &none ? std::nullopt : std::optional(choice);
}

TuningRule read_rule(base::JsonValue json) {
  json.only_fields({"collective", "ranks", "min_bytes", "max_bytes", "algorithm", "chunks", "radix",
                    "group_size", "measured_bytes", "us", "default_us"});
  TuningRule rule;
  const auto name = json.field("collective");
  const auto kind = parse_collective_kind(name.string());
  if (name.is_string() && !kind) name.fail("is no collective; one is all_reduce");
  rule.kind = kind.value_or(CollectiveKind::kAllReduce);
  rule.num_ranks = json.field("ranks").uint32(1, kMaxRanks);
  rule.min_bytes = json.field("min_bytes").uint64(0, UINT64_MAX);
  rule.max_bytes = json.field("max_bytes").uint64(rule.min_bytes, UINT64_MAX);
  rule.choice = read_choice(json, rule.kind, rule.num_ranks);
  rule.measured_bytes = json.optional("measured_bytes").uint64(0, UINT64_MAX);
  rule.us = json.optional("us").number(0, kMaxUs);
  rule.default_us = json.optional("default_us").number(0, kMaxUs);
  return rule;
}

void read_table(base::JsonValue root, TuningTable& table) {
  root.only_fields({"format", "version", "machine", "rules"});
  const auto format = root.field("format");
  if (format.is_string() && format.string() != kFormat) {
    format.fail(fmt::format("must be '{}'", kFormat));
  }
  static_cast<void>(root.field("version").uint32(kVersion, kVersion));
  const auto machine = root.field("machine");
  machine.only_fields({"cpu", "cores"});
  table.machine.cpu = machine.field("cpu").string();
  table.machine.cores = machine.field("cores").uint32(1, UINT32_MAX);
  const auto rules = root.field("rules");
  if (rules.size() > kMaxRules) return rules.fail(fmt::format("at most {} rules", kMaxRules));
  for (size_t i = 0; i < rules.size(); ++i) table.rules.push_back(read_rule(rules.at(i)));
  if (const auto overlap = sort_rules(table.rules)) {
    rules.at(overlap->second)
        .fail(fmt::format("speaks of sizes that rule {} (counted from 0) speaks of too",
                          overlap->first));
  }
}

std::string rule_line(const TuningRule& rule) {
  std::string line = fmt::format(
      R"({{"collective": "{}", "ranks": {}, "min_bytes": {}, "max_bytes": {}, "algorithm": "{}")",
      to_string(rule.kind), rule.num_ranks, rule.min_bytes, rule.max_bytes,
      rule.choice ? rule.choice->algorithm : kDefault);
  const auto add = [&](const char* name, uint32_t value) {
    if (value != 0) line += fmt::format(R"(, "{}": {})", name, value);
  };
  const plan::Options options = rule.choice ? rule.choice->options : plan::Options();
  add("chunks", options.chunks);
  add("radix", options.radix);
  add("group_size", options.group_size);
  return line + fmt::format(R"(, "measured_bytes": {}, "us": {:.3f}, "default_us": {:.3f}}})",
                            rule.measured_bytes, rule.us, rule.default_us);
}

Status add_schedules(const std::string& paths, uint32_t num_ranks, TuningTable& table) {
  for (size_t begin = 0; begin < paths.size();) {
    const size_t end = std::min(paths.find(':', begin), paths.size());
    const std::string path = paths.substr(begin, end - begin);
    begin = end + 1;
    if (path.empty()) continue;
    TUTTI_ASSIGN(LoadedSchedule loaded, load_schedule(path, {}));
    TUTTI_TRY(add_schedule(table.schedules, std::move(loaded)));
  }
  return check_fits(table.schedules, num_ranks);
}

Result<TuningTable> find_table(const base::VariableLookup& lookup) {
  std::optional<std::string> named = lookup(kTuningVariable);
  if (named == "") named.reset();
  if (named == "none") return TuningTable();
  const std::string path = named ? *named : user_tuning_path(lookup);
  std::error_code error;
  if (!named && (path.empty() || !fs::exists(path, error))) return TuningTable();
  Result<TuningTable> table = read_tuning(path);
  if (table) return table;
  const std::string_view why = named ? "TUTTI_TUNING names it" : "tables of this user lie there";
  return Error{table.error().code,
               fmt::format("the tuning table cannot be used: {} ({}; with TUTTI_TUNING=none the "
                           "job runs without one)",
                           table.error().message, why)};
}

}  // namespace

Result<TuningTable> tuning_from_json(std::string_view text, const std::string& source) {
  TUTTI_ASSIGN(const auto document, base::JsonDocument::parse(text, source));
  TuningTable table;
  table.source = source;
  read_table(document->root(), table);
  TUTTI_TRY(document->status());
  return table;
}

std::string to_json(const TuningTable& table) {
  std::string rules;
  for (const TuningRule& rule : table.rules) {
    rules += fmt::format("{}    {}", rules.empty() ? "\n" : ",\n", rule_line(rule));
  }
  return fmt::format(
      "{{\n  \"format\": \"{}\",\n  \"version\": {},\n"
      "  \"machine\": {{\"cpu\": {}, \"cores\": {}}},\n  \"rules\": [{}\n  ]\n}}\n",
      kFormat, kVersion, trace::quoted(table.machine.cpu), table.machine.cores, rules);
}

Result<TuningTable> read_tuning(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return Error{ErrorCode::kIo, fmt::format("{} is no file", path)};
  }
  if (fs::exists(status) && fs::file_size(path, error) > kMaxFileBytes) {
    return Error{ErrorCode::kMalformed, fmt::format("{}: is too large for a table", path)};
  }
  // What stands for standard input elsewhere is a file here.
  TUTTI_ASSIGN(const std::string text, base::read_file(path == "-" ? "./-" : path));
  return tuning_from_json(text, path);
}

std::string user_tuning_path(const base::VariableLookup& lookup) {
  const std::string config = lookup("XDG_CONFIG_HOME").value_or("");
  if (config.starts_with('/')) return config + "/tutti/tuning.json";
  const std::string home = lookup("HOME").value_or("");
  return home.starts_with('/') ? home + "/.config/tutti/tuning.json" : "";
}

Result<TuningTable> find_tuning(uint32_t num_ranks, const base::VariableLookup& lookup) {
  TUTTI_ASSIGN(TuningTable table, find_table(lookup));
  const std::string paths = lookup(kScheduleVariable).value_or("");
  if (Status status = add_schedules(paths, num_ranks, table); !status) {
    return Error{status.error().code,
                 fmt::format("{} (TUTTI_SCHEDULE names it)", status.error().message)};
  }
  return table;
}

}  // namespace tutti::comm
