#include "topo/nvidia_smi.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "base/try.h"
#include "topo/figures.h"
#include "topo/parse.h"

namespace tutti::topo {
namespace {

constexpr size_t kMaxColumns = 1024;
constexpr uint32_t kMaxNvlinks = 18;  // of any GPU so far: Hopper, Blackwell
constexpr double kNvlinkGbps = kNvlink2Gbps;
constexpr double kNicGbps = 12.5;

// How near two devices are: each reaches further than the one before.
enum class Near : uint8_t { kSelf, kOneBridge, kBridges, kHostBridge, kNode, kSystem, kUnknown };

struct Cell {
  Near near = Near::kUnknown;
  uint32_t nvlinks = 0;
};

struct Row {
  size_t line = 0;  // 0: not seen
  std::vector<Cell> cells;
  std::string numa;  // affinity as printed; empty when there is none
};

struct Matrix {
  size_t header_line = 0;
  std::vector<std::string_view> names;  // of columns
  std::vector<Row> rows;                // in order of columns
};

bool is_gpu(std::string_view name) {
  return name.starts_with("GPU") && parse_uint32(name.substr(3)).has_value();
}

// Real output underlines its header with escape sequences: ESC [ 4 m.
std::string without_escapes(std::string_view line) {
  std::string result;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      result += line[i];
      continue;
    }
    while (i < line.size() && line[i] != 'm') ++i;
  }
  return result;
}

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<std::string_view> words;
  while (true) {
    const size_t begin = line.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const size_t length = std::min(line.find_first_of(kBlank), line.size());
    words.push_back(line.substr(0, length));
    line.remove_prefix(length);
  }
}

bool is_header(const std::vector<std::string_view>& words) {
  if (words.empty() || !is_gpu(words[0])) return false;
  return words.size() == 1 || words[1] != "X";  // the row of the only GPU: GPU0 X ...
}

std::optional<Cell> parse_cell(std::string_view word) {
  constexpr std::array<std::string_view, 6> kNames = {"X", "PIX", "PXB", "PHB", "NODE", "SYS"};
  const auto known = std::find(kNames.begin(), kNames.end(), word);
  if (known != kNames.end()) return Cell{static_cast<Near>(known - kNames.begin()), 0};
  if (word == "SOC") return Cell{Near::kSystem, 0};  // what old versions called SYS
  const auto count = word.starts_with("NV") ? parse_uint32(word.substr(2)) : std::nullopt;
  if (!count || *count == 0 || *count > kMaxNvlinks) return std::nullopt;
  return Cell{Near::kUnknown, *count};
}

class Parser {
 public:
  explicit Parser(const std::string& source) : source_(source) {}

  Result<Matrix> parse(const std::vector<std::string>& lines);

 private:
  Error error(size_t line, std::string_view what) const {
    return {ErrorCode::kMalformed, fmt::format("{}:{}: {}", source_, line, what)};
  }
  Status parse_header(size_t line, const std::vector<std::string_view>& words);
  Status parse_row(size_t line, const std::vector<std::string_view>& words);
  [[nodiscard]] Status check_whole() const;

  const std::string& source_;
  Matrix matrix_;
  size_t numa_column_ = 0;  // of a row's words after the cells; 0: there is none
};

Status Parser::parse_header(size_t line, const std::vector<std::string_view>& words) {
  matrix_.header_line = line;
  size_t count = 0;
  while (count < words.size() && words[count] != "CPU") ++count;
  if (count > kMaxColumns) return error(line, fmt::format("more than {} columns", kMaxColumns));
  for (size_t i = 0; i < count; ++i) {
    if (!is_valid_name(words[i])) {
      return error(
          line, fmt::format("column {}: '{}' cannot name a device", i + 1, words[i].substr(0, 64)));
    }
    const auto& names = matrix_.names;
    if (std::find(names.begin(), names.end(), words[i]) != names.end()) {
      return error(line, fmt::format("column {}: {} is there already", i + 1, words[i]));
    }
    matrix_.names.push_back(words[i]);
  }
  matrix_.rows.resize(count);
  // "CPU Affinity" alone, or with "NUMA Affinity" behind it, which tells sockets apart as well.
  const bool has_cpu = count + 1 < words.size();
  const bool has_numa = count + 2 < words.size() && words[count + 2] == "NUMA";
  numa_column_ = has_numa ? 2 : has_cpu ? 1 : 0;
  return {};
}

Status Parser::parse_row(size_t line, const std::vector<std::string_view>& words) {
  const auto column = std::find(matrix_.names.begin(), matrix_.names.end(), words[0]);
  if (column == matrix_.names.end()) return {};  // a legend
  Row& row = matrix_.rows[column - matrix_.names.begin()];
  if (row.line != 0) {
    return error(line, fmt::format("row {} is there already, on line {}", words[0], row.line));
  }
  row.line = line;
  for (size_t i = 0; i < matrix_.names.size(); ++i) {
    const auto where = fmt::format("row {}, column {}", words[0], matrix_.names[i]);
    if (i + 1 >= words.size()) return error(line, fmt::format("{}: is missing", where));
    const auto cell = parse_cell(words[i + 1]);
    if (!cell) {
      return error(line, fmt::format("{}: '{}' is none of X, PIX, PXB, PHB, NODE, SYS, NV1 to NV{}",
                                     where, words[i + 1].substr(0, 32), kMaxNvlinks));
    }
    row.cells.push_back(*cell);
  }
  const size_t numa = matrix_.names.size() + numa_column_;
  if (numa_column_ != 0 && numa < words.size() && words[numa] != "N/A") row.numa = words[numa];
  return {};
}

Status Parser::check_whole() const {
  for (size_t a = 0; a < matrix_.rows.size(); ++a) {
    const Row& row = matrix_.rows[a];
    if (row.line == 0) {
      return error(matrix_.header_line, fmt::format("column {}: there is no row {}",
                                                    matrix_.names[a], matrix_.names[a]));
    }
    for (size_t b = 0; b < a; ++b) {
      const Cell& here = row.cells[b];
      const Cell& there = matrix_.rows[b].cells[a];
      if (here.near == there.near && here.nvlinks == there.nvlinks) continue;
      return error(row.line, fmt::format("row {}, column {}: differs from row {}, column {}",
                                         matrix_.names[a], matrix_.names[b], matrix_.names[b],
                                         matrix_.names[a]));
    }
  }
  return {};
}

Result<Matrix> Parser::parse(const std::vector<std::string>& lines) {
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto words = words_of(lines[i]);
    if (matrix_.header_line != 0) {
      if (!words.empty()) TUTTI_TRY(parse_row(i + 1, words));
    } else if (is_header(words)) {
      TUTTI_TRY(parse_header(i + 1, words));
    }
  }
  if (matrix_.header_line == 0) return error(1, "no header of GPUs (GPU0 GPU1 ...) in it");
  TUTTI_TRY(check_whole());
  return std::move(matrix_);
}

// Which devices are together at one level, by union and find.
class Groups {
 public:
  explicit Groups(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }

  size_t find(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  // The least member stands for its group.
  void join(size_t a, size_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<size_t> parent_;
};

class SmiBuilder {
 public:
  explicit SmiBuilder(const Matrix& matrix) : matrix_(matrix) {}

  Topology build();

 private:
  [[nodiscard]] Groups together(Near reach) const;
  void add_devices();
  void add_nvlinks();
  void add_pcie();
  NodeId add_group(std::map<size_t, NodeId>& made, size_t group, NodeKind kind,
                   std::string_view prefix);

  const Matrix& matrix_;
  Topology topology_;
  std::vector<NodeId> nodes_;  // by column
};

Groups SmiBuilder::together(Near reach) const {
  Groups groups(matrix_.names.size());
  std::map<std::string_view, size_t> first_of_numa;
  for (size_t a = 0; a < matrix_.rows.size(); ++a) {
    const Row& row = matrix_.rows[a];
    for (size_t b = 0; b < a; ++b) {
      if (row.cells[b].near <= reach) groups.join(a, b);
    }
    if (reach < Near::kNode || row.numa.empty()) continue;
    groups.join(a, first_of_numa.emplace(row.numa, a).first->second);
  }
  return groups;
}

void SmiBuilder::add_devices() {
  for (const std::string_view name : matrix_.names) {
    if (is_gpu(name)) {
      nodes_.push_back(add_rank(topology_, fmt::format("gpu{}", name.substr(3)), 0));
      continue;
    }
    const bool is_number = name.starts_with("NIC") && parse_uint32(name.substr(3));
    nodes_.push_back(
        add_node(topology_, NodeKind::kNic,
                 is_number ? fmt::format("nic{}", name.substr(3)) : std::string(name)));
  }
}

void SmiBuilder::add_nvlinks() {
  uint32_t most = 0;  // NVLinks that a GPU would have if each cell were links of its own ...
  uint32_t own = 0;   // ... and if all cells were the same links through a switch
  for (const Row& row : matrix_.rows) {
    uint32_t sum = 0;
    for (const Cell& cell : row.cells) {
      sum += cell.nvlinks;
      own = std::max(own, cell.nvlinks);
    }
    most = std::max(most, sum);
  }
  if (most > kMaxNvlinks) {
    const NodeId crossbar = add_node(topology_, NodeKind::kSwitch, "nvswitch");
    for (const NodeId gpu : topology_.ranks) {
      connect(topology_, gpu, crossbar, {LinkClass::kNvlink, own * kNvlinkGbps, kNvswitchNs});
    }
    return;
  }
  for (size_t a = 0; a < nodes_.size(); ++a) {
    for (size_t b = a + 1; b < nodes_.size(); ++b) {
      const uint32_t count = matrix_.rows[a].cells[b].nvlinks;
      if (count == 0) continue;
      connect(topology_, nodes_[a], nodes_[b],
              {LinkClass::kNvlink, count * kNvlinkGbps, kNvlinkNs});
    }
  }
}

NodeId SmiBuilder::add_group(std::map<size_t, NodeId>& made, size_t group, NodeKind kind,
                             std::string_view prefix) {
  const auto [entry, is_new] = made.emplace(group, NodeId());
  if (is_new) {
    entry->second = add_node(topology_, kind, fmt::format("{}{}", prefix, made.size() - 1));
  }
  return entry->second;
}

// Devices one bridge apart share a PCIe switch; switches some bridges apart share a switch above
// them; all of a NUMA node share its host. A switch with one thing below it is left out.
void SmiBuilder::add_pcie() {
  Groups lower = together(Near::kOneBridge);
  Groups upper = together(Near::kBridges);
  Groups host = together(Near::kNode);
  std::map<size_t, size_t> lower_size;
  std::map<size_t, std::map<size_t, size_t>> lowers_of_upper;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    ++lower_size[lower.find(i)];
    ++lowers_of_upper[upper.find(i)][lower.find(i)];
  }
  std::map<size_t, NodeId> lowers, uppers, hosts;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Wire wire = pcie(8);
    if (topology_.nodes[nodes_[i].value].kind == NodeKind::kNic) wire.gbps = kNicGbps;
    NodeId below = nodes_[i];
    const auto climb = [&](std::map<size_t, NodeId>& made, size_t group, NodeKind kind,
                           std::string_view prefix) {
      const bool was_made = made.contains(group);
      const NodeId above = add_group(made, group, kind, prefix);
      connect(topology_, below, above, wire);
      below = above;
      wire = pcie(8);
      return was_made;  // then it is joined to what is above it already
    };
    if (lower_size[lower.find(i)] > 1 && climb(lowers, lower.find(i), NodeKind::kSwitch, "pcie")) {
      continue;
    }
    if (lowers_of_upper[upper.find(i)].size() > 1 &&
        climb(uppers, upper.find(i), NodeKind::kSwitch, "root")) {
      continue;
    }
    climb(hosts, host.find(i), NodeKind::kHost, "cpu");
  }
  for (auto a = hosts.begin(); a != hosts.end(); ++a) {
    for (auto b = std::next(a); b != hosts.end(); ++b) {
      connect(topology_, a->second, b->second, socket(kSocketSkylakeGbps));
    }
  }
}

Topology SmiBuilder::build() {
  add_devices();
  add_nvlinks();
  add_pcie();
  return std::move(topology_);
}

std::vector<std::string> clean_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) lines.push_back(without_escapes(line));
  return lines;
}

}  // namespace

bool looks_like_nvidia_smi(std::string_view text) {
  const auto lines = clean_lines(text);
  return std::any_of(lines.begin(), lines.end(),
                     [](const std::string& line) { return is_header(words_of(line)); });
}

Result<Topology> from_nvidia_smi(std::string_view text, const std::string& source) {
  const auto lines = clean_lines(text);
  TUTTI_ASSIGN(const Matrix matrix, Parser(source).parse(lines));
  Topology topology = SmiBuilder(matrix).build();
  if (Status status = check(topology); !status) {
    return Error{ErrorCode::kMalformed, fmt::format("{}: {}", source, status.error().message)};
  }
  return topology;
}

}  // namespace tutti::topo
