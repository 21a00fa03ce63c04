#include "comm/plan_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/invalid.h"
#include "base/try.h"
#include "comm/join.h"
#include "comm/keys.h"
#include "ir/text.h"
#include "topo/fingerprint.h"
#include "verify/check.h"

namespace tutti::comm {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHead = "tutti-plan 1";
constexpr std::string_view kSuffix = ".plan";

uint64_t hash_of(std::string_view text) {
  uint64_t hash = text.size();
  for (const char c : text) hash = mix(hash, static_cast<unsigned char>(c));
  return hash;
}

Error system_error(const char* verb, const std::string& path) {
  return {ErrorCode::kIo, fmt::format("cannot {} {}: {}", verb, path, std::strerror(errno))};
}

class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// Only a plain file of this user, and no more of it than a plan may have.
Result<std::optional<std::string>> read_own(const std::string& path, uint64_t most_bytes) {
  const OpenFile file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (file.get() < 0 && errno == ENOENT) return std::optional<std::string>();
  struct stat facts {};
  if (file.get() < 0 || fstat(file.get(), &facts) != 0) return system_error("read", path);
  const bool is_own = S_ISREG(facts.st_mode) && facts.st_uid == geteuid();
  if (!is_own || static_cast<uint64_t>(facts.st_size) > most_bytes) {
    return Error{ErrorCode::kMalformed, fmt::format("{} is no plan of this user", path)};
  }
  std::string text(static_cast<size_t>(facts.st_size), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = read(file.get(), text.data() + done, text.size() - done);
    if (got <= 0) return system_error("read", path);
    done += static_cast<size_t>(got);
  }
  futimens(file.get(), nullptr);  // asked for just now
  return std::optional(std::move(text));
}

// A reader never sees half of it.
Status write_own(const std::string& path, std::string_view text) {
  std::string temporary = path + ".XXXXXX";
  const OpenFile file(mkostemp(temporary.data(), O_CLOEXEC));  // mode 0600
  if (file.get() < 0) return system_error("create", path);
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t put = write(file.get(), text.data() + done, text.size() - done);
    if (put <= 0) break;
    done += static_cast<size_t>(put);
  }
  if (done == text.size() && rename(temporary.c_str(), path.c_str()) == 0) return {};
  Error error = system_error("write", path);
  unlink(temporary.c_str());
  return error;
}

// Takes a line off the front.
std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string head_of(std::string_view body) {
  return fmt::format("{} {:016x}", kHead, hash_of(body));
}

Result<StoredPlan> plan_from(std::string_view text, const std::string& key,
                             const std::string& path) {
  const auto unusable = [&](std::string_view why) {
    return Error{ErrorCode::kMalformed, fmt::format("{} {}", path, why)};
  };
  const std::string_view head = next_line(text);
  if (head != head_of(text)) return unusable("is damaged");
  if (next_line(text) != key) return unusable("answers another question");
  std::string facts(next_line(text));
  TUTTI_ASSIGN(ir::Schedule schedule, ir::from_text(text, path));
  Result<verify::VerifiedSchedule> proved = verify::check(std::move(schedule)).result();
  if (!proved) return unusable(fmt::format("is not proved: {}", proved.error().message));
  return StoredPlan{*std::move(proved), std::move(facts)};
}

bool is_one_line(std::string_view text) { return text.find('\n') == std::string_view::npos; }

}  // namespace

std::string cache_folder(const base::VariableLookup& lookup) {
  const std::string named = lookup(kCacheVariable).value_or("");
  if (named == "none") return "";
  if (!named.empty()) return named;
  const std::string cache = lookup("XDG_CACHE_HOME").value_or("");
  if (cache.starts_with('/')) return cache + "/tutti";
  const std::string home = lookup("HOME").value_or("");
  return home.starts_with('/') ? home + "/.cache/tutti" : "";
}

// Names are no part of the fingerprint, and of what a maker says of a plan they are.
std::string plan_key(const PlanQuestion& question, const topo::Topology& topology) {
  uint64_t names = hash_of(topology.name);
  for (const topo::Node& node : topology.nodes) names = mix(names, hash_of(node.name));
  const Collective& collective = question.collective;
  return fmt::format(
      "{} ranks={} root={} peer={} topology={:016x} names={:016x} algorithm={} chunks={} bytes={} "
      "maker={}",
      to_string(collective.kind), collective.num_ranks, collective.root, collective.peer,
      topo::fingerprint(topology), names, question.algorithm, question.chunks, question.bytes,
      question.maker);
}

std::string PlanStore::path_of(const std::string& key) const {
  return fmt::format("{}/{:016x}{}", folder_, hash_of(key), kSuffix);
}

Result<std::optional<StoredPlan>> PlanStore::find(const std::string& key) const {
  const std::string path = path_of(key);
  std::error_code none;
  if (folder_.empty() || !fs::exists(path, none)) return std::optional<StoredPlan>();
  TUTTI_TRY(make_private_directory(folder_));
  TUTTI_ASSIGN(const std::optional<std::string> text, read_own(path, most_bytes_));
  if (!text) return std::optional<StoredPlan>();
  TUTTI_ASSIGN(StoredPlan plan, plan_from(*text, key, path));
  return std::optional(std::move(plan));
}

Status PlanStore::keep(const std::string& key, const ir::Schedule& schedule,
                       const std::string& facts) const {
  if (folder_.empty()) return {};
  if (!is_one_line(key) || !is_one_line(facts)) return invalid("key and facts are a line each");
  const std::string body = fmt::format("{}\n{}\n{}", key, facts, ir::to_text(schedule));
  if (body.size() > most_bytes_ / 4) return {};
  std::error_code error;
  fs::create_directories(fs::path(folder_).parent_path(), error);
  TUTTI_TRY(make_private_directory(folder_));
  TUTTI_TRY(write_own(path_of(key), fmt::format("{}\n{}", head_of(body), body)));
  make_room();
  return {};
}

// What another process removes or writes meanwhile is no error.
void PlanStore::make_room() const {
  struct Kept {
    fs::file_time_type used;
    fs::path path;
    uint64_t bytes;
  };
  std::vector<Kept> plans;
  uint64_t all_bytes = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
    // Also what a process that was killed has left half written.
    const bool is_ours = entry.path().filename().string().find(kSuffix) != std::string::npos;
    if (!is_ours || !entry.is_regular_file(error)) continue;
    const uint64_t bytes = entry.file_size(error);
    if (error) continue;
    const fs::file_time_type used = entry.last_write_time(error);
    if (error) continue;
    plans.push_back({used, entry.path(), bytes});
    all_bytes += bytes;
  }
  std::sort(plans.begin(), plans.end(),
            [](const Kept& a, const Kept& b) { return a.used < b.used; });
  for (const Kept& plan : plans) {
    if (all_bytes <= most_bytes_) return;
    if (fs::remove(plan.path, error)) all_bytes -= plan.bytes;
  }
}

}  // namespace tutti::comm
