#include "tools/view/shelf.h"

#include <fmt/format.h>

#include <utility>

#include "base/try.h"
#include "comm/schedule_file.h"

namespace tutti::view {
namespace {

// A trace begins with its header line; a schedule may have the same word only further in.
bool looks_like_trace(const std::string& text) {
  const size_t first = text.find_first_not_of(" \r\n");
  if (first == std::string::npos || text[first] != '{') return false;
  const size_t end_of_line = text.find('\n', first);
  return text.substr(first, end_of_line - first).find("\"tutti_trace\"") != std::string::npos;
}

// What is no trace of ours is read as a schedule; of a file that is neither, the reader of
// schedules would only say which of its words is missing.
Error said_for_people(Error error, const std::string& name, const std::string& text) {
  constexpr const char* kOurs = "this page shows what tutti run --trace writes, and schedules";
  const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
  if (has("\"tutti_schedule\"") || has("<algo")) return error;
  if (has("\"traceEvents\"")) {
    error.message =
        fmt::format("{}:1: a trace in Chrome's format, which Perfetto opens (ui.perfetto.dev); {}",
                    name, kOurs);
  } else {
    error.message += fmt::format("; {}", kOurs);
  }
  return error;
}

Result<ShelfFile> read(std::string name, const std::string& text) {
  if (looks_like_trace(text)) {
    TUTTI_ASSIGN(trace::Trace trace, trace::parse_json_lines(text, name));
    return ShelfFile{std::move(name), std::move(trace)};
  }
  Result<ir::Schedule> schedule = comm::parse_schedule(text, name);
  if (!schedule) return said_for_people(schedule.error(), name, text);
  return ShelfFile{std::move(name), *std::move(schedule)};
}

}  // namespace

Result<size_t> Shelf::add(std::string name, const std::string& text) {
  TUTTI_ASSIGN(ShelfFile file, read(std::move(name), text));
  const std::lock_guard lock(mutex_);
  if (files_.size() >= kMaxFiles) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{} files are open; start tutti view again", kMaxFiles)};
  }
  files_.push_back(std::make_shared<const ShelfFile>(std::move(file)));
  return files_.size() - 1;
}

Result<std::shared_ptr<const ShelfFile>> Shelf::get(size_t number) const {
  const std::lock_guard lock(mutex_);
  if (number < files_.size()) return files_[number];
  return Error{ErrorCode::kNotFound,
               fmt::format("file {} is not open here; drop it on the page again", number)};
}

std::vector<std::shared_ptr<const ShelfFile>> Shelf::all() const {
  const std::lock_guard lock(mutex_);
  return files_;
}

void Shelf::set_machine(std::string name, topo::Topology machine) {
  machine_name_ = std::move(name);
  machine_ = std::move(machine);
}

}  // namespace tutti::view
