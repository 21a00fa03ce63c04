#include "plan/synth/sketch/sketch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

#include "base/invalid.h"
#include "base/json_document.h"
#include "base/try.h"

namespace tutti::plan::sketch {
namespace {

constexpr std::string_view kSketchFormat = "tutti-sketch";
constexpr uint32_t kSketchVersion = 1;
constexpr uint32_t kMostRanks = 1u << 16;
constexpr uint32_t kMostChunks = 1024;

template <class Value>
struct Word {
  std::string_view text;
  Value value;
};
constexpr Word<Policy> kPolicies[] = {
    {"free", Policy::kFree}, {"uc-min", Policy::kFewest}, {"uc-max", Policy::kMost}};
constexpr Word<Within> kWithins[] = {{"fastest", Within::kFastest}, {"all", Within::kAll}};
constexpr Word<Across> kAcrosses[] = {{"all", Across::kAll}, {"same", Across::kSame}};

template <class Value, size_t Count>
Value read_word(base::JsonValue json, const Word<Value> (&words)[Count], Value otherwise) {
  if (!json.exists()) return otherwise;
  std::string known;
  for (const Word<Value>& word : words) {
    if (json.is_string() && json.string() == word.text) return word.value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", word.text);
  }
  json.fail(fmt::format("must be one of {}", known));
  return otherwise;
}

template <class Value, size_t Count>
std::string_view word_of(Value value, const Word<Value> (&words)[Count]) {
  for (const Word<Value>& word : words) {
    if (word.value == value) return word.text;
  }
  return "";
}

std::vector<uint32_t> read_ranks(base::JsonValue json) {
  std::vector<uint32_t> ranks;
  for (size_t i = 0; i < json.size(); ++i) ranks.push_back(json.at(i).uint32(0, kMostRanks - 1));
  return ranks;
}

uint32_t rank_key(std::string_view key, base::JsonValue value) {
  uint32_t rank = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), rank);
  if (error != std::errc() || end != key.data() + key.size() || rank >= kMostRanks) {
    value.fail(fmt::format("'{}' is not a rank of a node", key));
  }
  return rank;
}

void read_across(base::JsonValue json, Sketch& sketch) {
  if (!json.exists() || !json.is_object()) {
    sketch.across = read_word(json, kAcrosses, Across::kAll);
    return;
  }
  sketch.across = Across::kListed;
  for (const auto& [key, value] : json.fields()) {
    sketch.senders.push_back({rank_key(key, value), read_ranks(value)});
  }
}

void read_sketch(base::JsonValue root, Sketch& sketch) {
  root.only_fields({"format", "version", "name", "ranks_per_node", "chunks", "bytes", "within",
                    "across", "leave_through", "own_first", "detour", "switches", "symmetry"});
  const auto format = root.field("format");
  if (format.is_string() && format.string() != kSketchFormat) {
    format.fail(fmt::format("must be '{}'", kSketchFormat));
  }
  static_cast<void>(root.field("version").uint32(kSketchVersion, kSketchVersion));
  if (root.optional("name").exists()) sketch.name = root.optional("name").string();
  sketch.ranks_per_node = root.field("ranks_per_node").uint32(1, kMostRanks);
  if (root.optional("chunks").exists()) {
    sketch.chunks = root.optional("chunks").uint32(1, kMostChunks);
  }
  sketch.bytes = root.optional("bytes").uint64(0, uint64_t{1} << 50);
  sketch.within = read_word(root.optional("within"), kWithins, Within::kFastest);
  read_across(root.optional("across"), sketch);
  if (const auto relays = root.optional("leave_through"); relays.exists()) {
    for (const auto& [key, value] : relays.fields()) {
      sketch.relays.push_back({rank_key(key, value), read_ranks(value)});
    }
  }
  sketch.own_first = root.optional("own_first").boolean();
  sketch.detour = root.optional("detour").uint32(0, 8);
  if (const auto switches = root.optional("switches"); switches.exists()) {
    for (size_t i = 0; i < switches.size(); ++i) {
      const auto entry = switches.at(i);
      entry.only_fields({"ranks", "policy"});
      sketch.switches.push_back({read_ranks(entry.field("ranks")),
                                 read_word(entry.optional("policy"), kPolicies, Policy::kFree)});
    }
  }
  if (const auto symmetry = root.optional("symmetry"); symmetry.exists()) {
    for (size_t i = 0; i < symmetry.size(); ++i) {
      const auto pair = symmetry.at(i);
      if (pair.size() != 2) pair.fail("must be [offset, group]");
      sketch.symmetry.push_back(
          {pair.at(0).uint32(0, kMostRanks), pair.at(1).uint32(1, kMostRanks)});
    }
  }
}

std::string map_to_json(std::span<const Relay> relays) {
  std::string text;
  for (const Relay& relay : relays) {
    text += fmt::format("{}\"{}\": [{}]", text.empty() ? "" : ", ", relay.through,
                        fmt::join(relay.blocks_of, ", "));
  }
  return "{" + text + "}";
}

std::string across_to_json(const Sketch& sketch) {
  if (sketch.across != Across::kListed) {
    return fmt::format("\"{}\"", word_of(sketch.across, kAcrosses));
  }
  std::string text;
  for (const Sender& sender : sketch.senders) {
    text += fmt::format("{}\"{}\": [{}]", text.empty() ? "" : ", ", sender.from,
                        fmt::join(sender.to, ", "));
  }
  return "{" + text + "}";
}

Status check_members(std::span<const uint32_t> ranks, uint32_t ranks_per_node,
                     std::string_view what) {
  for (const uint32_t rank : ranks) {
    if (rank < ranks_per_node) continue;
    return invalid(fmt::format("the sketch's {} names rank {} of a node, which has {}", what, rank,
                               ranks_per_node));
  }
  return {};
}

}  // namespace

std::string_view to_string(Policy policy) noexcept { return word_of(policy, kPolicies); }

uint32_t rotated(uint32_t rank, const Rotation& rotation) {
  const uint32_t place = rank % rotation.group;
  return rank - place + (place + rotation.offset) % rotation.group;
}

Status check(const Sketch& sketch, uint32_t num_ranks) {
  const uint32_t size = sketch.ranks_per_node;
  if (size == 0 || num_ranks % size != 0) {
    return invalid(
        fmt::format("{} ranks are not whole nodes of {}: the sketch was drawn for another machine",
                    num_ranks, size));
  }
  if (sketch.chunks == 0) return invalid("a sketch cuts a block into at least one chunk");
  for (const Sender& sender : sketch.senders) {
    TUTTI_TRY(check_members({&sender.from, 1}, size, "across"));
    TUTTI_TRY(check_members(sender.to, size, "across"));
  }
  for (const Relay& relay : sketch.relays) {
    TUTTI_TRY(check_members({&relay.through, 1}, size, "leave_through"));
    TUTTI_TRY(check_members(relay.blocks_of, size, "leave_through"));
  }
  for (const HyperEdge& edge : sketch.switches) {
    TUTTI_TRY(check_members(edge.ranks, size, "switches"));
  }
  for (const Rotation& rotation : sketch.symmetry) {
    if (rotation.group == 0 || num_ranks % rotation.group != 0) {
      return invalid(fmt::format("symmetry [{}, {}]: {} ranks are not whole groups of {}",
                                 rotation.offset, rotation.group, num_ranks, rotation.group));
    }
  }
  return {};
}

Result<Sketch> from_json(std::string_view text, const std::string& source) {
  TUTTI_ASSIGN(const auto document, base::JsonDocument::parse(text, source));
  Sketch sketch;
  read_sketch(document->root(), sketch);
  TUTTI_TRY(document->status());
  return sketch;
}

std::string to_json(const Sketch& sketch) {
  std::string text = fmt::format(
      "{{\n  \"format\": \"{}\",\n  \"version\": {},\n  \"name\": {},\n"
      "  \"ranks_per_node\": {},\n  \"chunks\": {},\n  \"within\": \"{}\",\n  \"across\": {}",
      kSketchFormat, kSketchVersion, base::json_quoted(sketch.name), sketch.ranks_per_node,
      sketch.chunks, word_of(sketch.within, kWithins), across_to_json(sketch));
  if (sketch.bytes != 0) text += fmt::format(",\n  \"bytes\": {}", sketch.bytes);
  if (!sketch.relays.empty()) {
    text += fmt::format(",\n  \"leave_through\": {}", map_to_json(sketch.relays));
  }
  if (sketch.own_first) text += ",\n  \"own_first\": true";
  if (sketch.detour != 0) text += fmt::format(",\n  \"detour\": {}", sketch.detour);
  if (!sketch.switches.empty()) {
    std::string list;
    for (const HyperEdge& edge : sketch.switches) {
      list += fmt::format("{}{{\"ranks\": [{}], \"policy\": \"{}\"}}", list.empty() ? "" : ", ",
                          fmt::join(edge.ranks, ", "), to_string(edge.policy));
    }
    text += fmt::format(",\n  \"switches\": [{}]", list);
  }
  if (!sketch.symmetry.empty()) {
    std::string list;
    for (const Rotation& rotation : sketch.symmetry) {
      list += fmt::format("{}[{}, {}]", list.empty() ? "" : ", ", rotation.offset, rotation.group);
    }
    text += fmt::format(",\n  \"symmetry\": [{}]", list);
  }
  return text + "\n}\n";
}

}  // namespace tutti::plan::sketch
