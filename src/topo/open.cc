#include "topo/open.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/try.h"
#include "topo/cluster.h"
#include "topo/discover.h"
#include "topo/file.h"
#include "topo/machines.h"
#include "topo/nccl_xml.h"
#include "topo/nvidia_smi.h"

namespace tutti::topo {
namespace {

// What check() accepts as a topology's name: the end of the path, without odd characters.
std::string name_of(const std::string& source) {
  std::string name = std::filesystem::path(source).filename().string();
  std::erase_if(name, [](char c) { return c < ' ' || c > '~' || c == '"' || c == '\\'; });
  return name;
}

bool is_file(const std::string& path) {
  std::error_code error;
  return path == "-" || std::filesystem::exists(path, error);
}

// Without the cluster around it. A machine's name wins over a file of the same name, which one can
// still reach as ./name.
Result<Topology> open_one(const std::string& text) {
  if (text == "host") return discover();
  if (!names_machine(text) && is_file(text)) return read_topology(text);
  auto machine = make_machine(text);
  if (!machine && machine.error().code == ErrorCode::kNotFound) {
    machine.error().message += "; also host, and files";
  }
  return machine;
}

}  // namespace

Result<Topology> parse_topology(std::string_view text, const std::string& source) {
  const auto parse = [&]() -> Result<Topology> {
    const size_t first = text.find_first_not_of(" \t\r\n");
    const char sign = first == std::string_view::npos ? ' ' : text[first];
    if (sign == '{') return from_json(text, source);
    if (sign == '<') return from_nccl_xml(text, source);
    if (looks_like_nvidia_smi(text)) return from_nvidia_smi(text, source);
    return Error{ErrorCode::kMalformed,
                 fmt::format("{}:1: not a topology: neither JSON nor NCCL's XML nor the matrix of "
                             "nvidia-smi topo -m",
                             source)};
  };
  TUTTI_ASSIGN(Topology topology, parse());
  if (topology.name.empty()) topology.name = name_of(source);
  return topology;
}

Result<Topology> read_topology(const std::string& path) {
  TUTTI_ASSIGN(const std::string text, base::read_file(path));
  return parse_topology(text, path == "-" ? "standard input" : path);
}

Result<Topology> open(const std::string& text) {
  // A file is never mistaken for a cluster because of a * in its name.
  if (is_file(text) && !names_machine(text)) return read_topology(text);
  TUTTI_ASSIGN(const auto parts, parse_cluster(text));
  if (!parts) return open_one(text);
  TUTTI_ASSIGN(const Topology machine, open_one(std::string(parts->machine)));
  return cluster(machine, parts->shape);
}

}  // namespace tutti::topo
