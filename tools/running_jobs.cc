#include "tools/running_jobs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "base/file.h"
#include "base/job_environment.h"

namespace tutti::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOwnPrefix = "tutti-run-";
constexpr uint32_t kAnswerMs = 1000;
// Ranks that listen and do not answer are stopped; so many of them and the job is given up.
constexpr int kMostStopped = 3;

std::optional<uint32_t> number_in(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    entries.push_back(at->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

// Where tutti run and ranks under other launchers make them: base::runtime_directory, which may
// have been another one there.
std::vector<std::string> job_directories() {
  std::set<std::string> roots{"/tmp", base::runtime_directory()};
  for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    if (const auto path = base::environment_variable(name)) roots.insert(*path);
  }
  const std::string foreign = fmt::format("tutti-{}", getuid());
  std::vector<std::string> found;
  for (const std::string& root : roots) {
    for (const fs::path& entry : entries_of(root)) {
      if (entry.filename().string().starts_with(kOwnPrefix)) found.push_back(entry.string());
    }
    for (const fs::path& entry : entries_of(fs::path(root) / foreign)) {
      found.push_back(entry.string());
    }
  }
  return found;
}

std::vector<uint32_t> listening_ranks(const std::string& directory) {
  constexpr std::string_view kSocket = "status.";
  std::vector<uint32_t> ranks;
  for (const fs::path& entry : entries_of(directory)) {
    const std::string name = entry.filename().string();
    if (!name.starts_with(kSocket)) continue;
    if (const auto rank = number_in(name.substr(kSocket.size()))) ranks.push_back(*rank);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

// Any rank knows all boards.
std::optional<RunningJob> ask(const std::string& directory) {
  int stopped = 0;
  for (const uint32_t rank : listening_ranks(directory)) {
    auto boards = comm::ask_rank(comm::status_socket_path(directory, rank), kAnswerMs);
    if (boards) return RunningJob{directory, *std::move(boards)};
    stopped += boards.error().code == ErrorCode::kDeadline ? 1 : 0;
    if (stopped == kMostStopped) break;
  }
  return std::nullopt;
}

uint32_t parent_of(uint32_t process) {
  const Result<std::string> stat = base::read_file(fmt::format("/proc/{}/stat", process));
  if (!stat) return 0;
  // "PID (NAME) STATE PARENT ...", where the name may contain anything.
  const size_t after_name = stat->rfind(')');
  if (after_name == std::string::npos || after_name + 4 > stat->size()) return 0;
  const std::string_view rest = std::string_view(*stat).substr(after_name + 4);
  return number_in(rest.substr(0, rest.find(' '))).value_or(0);
}

bool has_process(const RunningJob& job, uint32_t process) {
  return std::any_of(job.boards.boards.begin(), job.boards.boards.end(), [&](const auto& board) {
    return board && (board->process == process || parent_of(board->process) == process);
  });
}

}  // namespace

std::vector<RunningJob> running_jobs(const std::string& which) {
  std::vector<RunningJob> jobs;
  if (which.find('/') != std::string::npos) {
    const std::string directory = which.substr(0, which.find_last_not_of('/') + 1);
    if (auto job = ask(directory)) jobs.push_back(*std::move(job));
    return jobs;
  }
  const std::optional<uint32_t> process = number_in(which);
  for (const std::string& directory : job_directories()) {
    const std::string name = fs::path(directory).filename().string();
    const bool is_named = name == which || name == std::string(kOwnPrefix) + which;
    if (!which.empty() && !process && !is_named) continue;
    auto job = ask(directory);
    if (!job) continue;
    if (which.empty() || is_named || (process && has_process(*job, *process))) {
      jobs.push_back(*std::move(job));
    }
  }
  return jobs;
}

}  // namespace tutti::tools
