#include "tools/chaos/note.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tutti::tools::chaos {
namespace {

std::string path_of(const std::string& folder, uint32_t rank) {
  return fmt::format("{}/rank-{}", folder, rank);
}

}  // namespace

void leave_note(uint32_t rank, const Note& note) {
  const char* const folder = std::getenv(kNotesVariable);
  if (folder == nullptr) {
    fmt::print(stderr, "rank {}: {}{}\n", rank, note.is_ok ? "" : "wrong: ", note.message);
    return;
  }
  const nlohmann::json json{
      {"ns", note.ns}, {"ok", note.is_ok}, {"went_on", note.went_on}, {"message", note.message}};
  std::ofstream(path_of(folder, rank)) << json.dump() << '\n';
}

std::optional<Note> read_note(const std::string& folder, uint32_t rank) {
  std::ifstream file(path_of(folder, rank));
  const auto json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  return Note{json.value("ns", uint64_t{0}), json.value("ok", false), json.value("went_on", false),
              json.value("message", std::string())};
}

}  // namespace tutti::tools::chaos
