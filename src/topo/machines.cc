#include "topo/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/invalid.h"
#include "base/try.h"
#include "topo/figures.h"
#include "topo/machines/families.h"
#include "topo/parse.h"

namespace tutti::topo {
namespace {

struct Named {
  std::string_view name;
  Topology (*make)();
};
constexpr std::array<Named, 9> kNamed = {{{"dgx-1p", machines::dgx_1p},
                                          {"dgx-1v", machines::dgx_1v},
                                          {"ndv2", machines::ndv2},
                                          {"dgx-2", machines::dgx_2},
                                          {"dgx-a100", machines::dgx_a100},
                                          {"dgx-h100", machines::dgx_h100},
                                          {"nvl72", machines::nvl72},
                                          {"mi250x", machines::mi250x},
                                          {"mi300x", machines::mi300x}}};
constexpr std::array<std::string_view, 5> kShapes = {"ring", "torus", "grid", "mesh", "switch"};

constexpr std::array<MachineEntry, kNamed.size() + kShapes.size()> kList = {{
    {"dgx-1p", "8 P100 on a cube mesh of NVLinks, 80 GB/s each; 4 NICs of 12.5 GB/s"},
    {"dgx-1v", "8 V100 on a cube mesh of NVLinks, 150 GB/s each; 4 NICs of 12.5 GB/s"},
    {"ndv2", "dgx-1v with one NIC of 12.5 GB/s"},
    {"dgx-2", "16 V100 on NVSwitches, 150 GB/s each; 8 NICs of 12.5 GB/s"},
    {"dgx-a100", "8 A100 on NVSwitches, 300 GB/s each; 8 NICs of 25 GB/s"},
    {"dgx-h100", "8 H100 on NVSwitches, 450 GB/s each; 8 NICs of 50 GB/s"},
    {"nvl72", "72 B200 on NVSwitches, 900 GB/s each; 72 NICs of 50 GB/s"},
    {"mi250x", "16 MI250X dies with 7 xGMI links of 50 GB/s each; 8 NICs of 25 GB/s"},
    {"mi300x", "8 MI300X, every two joined by 64 GB/s of xGMI; 8 NICs of 50 GB/s"},
    {"ring:N", "N devices in a ring"},
    {"torus:AxB[xC]", "A times B (times C) devices in a torus"},
    {"grid:AxB[xC]", "the same without the way around: its edges are ends"},
    {"mesh:N", "N devices, every two joined"},
    {"switch:N", "N devices on one switch"},
}};

constexpr uint32_t kMaxDevices = 100'000;
constexpr uint32_t kMaxMeshDevices = 1024;  // it has a link for every pair
constexpr size_t kMaxSides = 3;
// The NVLink of TACCL's model: a shape is as good as its figures, which one gives after an @.
constexpr Wire kShapeWire = {LinkClass::kOther, 25, 700};

// Letters to insert, delete or replace to get from one word to the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// Swapped and forgotten letters are near; something else altogether is not.
std::string hint(std::string_view word) {
  constexpr size_t kFar = 3;
  std::string_view best;
  size_t best_distance = kFar;
  const auto look = [&](std::string_view name) {
    const size_t distance = edit_distance(word.substr(0, 32), name);
    if (distance >= best_distance) return;
    best = name;
    best_distance = distance;
  };
  for (const Named& named : kNamed) look(named.name);
  for (const std::string_view shape : kShapes) look(shape);
  return best.empty() ? "." : fmt::format("; did you mean {}?", best);
}

Error not_found(std::string_view text, std::string_view word) {
  std::string names;
  for (const MachineEntry& entry : kList) {
    names += names.empty() ? "" : ", ";
    names += entry.name;
  }
  return {ErrorCode::kNotFound,
          fmt::format("no machine '{}'{} There are: {}", text.substr(0, 80), hint(word), names)};
}

// "25GB/s,700ns", in either order, either one alone.
Result<Wire> parse_wire(std::string_view text) {
  Wire wire = kShapeWire;
  for (const std::string_view figure : split(text, ',')) {
    struct Unit {
      std::string_view suffix;
      double Wire::*field;
      double factor;
    };
    constexpr std::array<Unit, 4> kUnits = {{{"GB/s", &Wire::gbps, 1},
                                             {"Gb/s", &Wire::gbps, 0.125},
                                             {"ns", &Wire::latency_ns, 1},
                                             {"us", &Wire::latency_ns, 1000}}};
    bool is_known = false;
    for (const Unit& unit : kUnits) {
      const auto digits = without_suffix(figure, unit.suffix);
      const auto value = digits ? parse_decimal(*digits) : std::nullopt;
      if (!value) continue;
      wire.*unit.field = *value * unit.factor;
      is_known = true;
    }
    if (!is_known || !(wire.gbps > 0)) {
      return invalid(fmt::format(
          "'{}' is no rate above zero and no latency; write for example @25GB/s,700ns (GB/s, Gb/s; "
          "ns, us)",
          figure));
    }
  }
  return wire;
}

Result<std::vector<uint32_t>> parse_sides(std::string_view shape, std::string_view text) {
  const bool has_sides = shape == "torus" || shape == "grid";
  const size_t max_sides = has_sides ? kMaxSides : 1;
  std::vector<uint32_t> sides;
  uint64_t product = 1;
  for (const std::string_view part : split(text, 'x')) {
    const auto side = parse_uint32(part);
    product *= side.value_or(0);
    if (product == 0 || product > kMaxDevices || sides.size() == max_sides) {
      return invalid(fmt::format(
          "'{}' is no size: 1 to {} devices, as in {}", text.substr(0, 80), kMaxDevices,
          has_sides ? fmt::format("{0}:4x4 or {0}:2x3x4", shape) : std::string("ring:8")));
    }
    sides.push_back(*side);
  }
  return sides;
}

Result<Topology> make_shape(std::string_view shape, std::string_view rest) {
  const size_t at = rest.find('@');
  const std::string_view size = rest.substr(0, at);
  Wire wire = kShapeWire;
  if (at != std::string_view::npos) {
    TUTTI_ASSIGN(wire, parse_wire(rest.substr(at + 1)));
  }
  TUTTI_ASSIGN(const auto sides, parse_sides(shape, size));
  Topology topology;
  if (shape == "torus") {
    topology = machines::torus(sides, wire);
  } else if (shape == "grid") {
    topology = machines::grid(sides, wire);
  } else if (shape == "ring") {
    topology = machines::ring(sides[0], wire);
  } else if (shape == "switch") {
    topology = machines::crossbar(sides[0], wire);
  } else {
    if (sides[0] > kMaxMeshDevices) {
      return invalid(fmt::format("mesh:{}: at most {} devices, as every two are joined", sides[0],
                                 kMaxMeshDevices));
    }
    topology = machines::mesh(sides[0], wire);
  }
  topology.name = fmt::format("{}:{}", shape, rest);
  return topology;
}

std::string_view leading_word(std::string_view text) {
  return text.substr(0, text.find_first_of(":*@"));
}

bool is_shape(std::string_view word) {
  return std::find(kShapes.begin(), kShapes.end(), word) != kShapes.end();
}

}  // namespace

std::span<const MachineEntry> machine_list() { return kList; }

bool names_machine(std::string_view text) {
  const std::string_view word = leading_word(text);
  return is_shape(word) ||
         std::any_of(kNamed.begin(), kNamed.end(), [&](const Named& n) { return n.name == word; });
}

Result<Topology> make_machine(std::string_view text) {
  const std::string_view word = leading_word(text);
  for (const Named& named : kNamed) {
    if (named.name == text) return named.make();
  }
  if (!is_shape(word)) return not_found(text, word);
  if (word.size() == text.size() || text[word.size()] != ':') {
    return invalid(fmt::format("{} needs a size, as in {}:8", word, word));
  }
  return make_shape(word, text.substr(word.size() + 1));
}

}  // namespace tutti::topo
