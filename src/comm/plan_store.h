// Plans on disk: what was found for a topology once need not be searched again. A file is believed
// in nothing: it is read only from a folder that is this user's alone, must say the very key that
// is asked for, and its schedule is proved again. Whatever is wrong with one, it is as if it were
// not there, with a sentence that says so. Several processes may use one folder at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/job_environment.h"
#include "topo/topology.h"
#include "tutti/collective.h"
#include "tutti/result.h"
#include "verify/verified_schedule.h"

namespace tutti::comm {

// A folder; or "none", for no plans on disk.
inline constexpr const char* kCacheVariable = "TUTTI_CACHE";

// $TUTTI_CACHE; else $XDG_CACHE_HOME/tutti, or ~/.cache/tutti; empty for none and without a home.
[[nodiscard]] std::string cache_folder(
    const base::VariableLookup& lookup = base::environment_variable);

// All that a plan depends on, in a line of text. `maker` is the program that plans, this very
// build: another may plan better.
struct PlanQuestion {
  Collective collective;
  std::string algorithm;  // "packed", "auto", ...
  uint32_t chunks = 0;
  uint64_t bytes = 0;
  std::string maker;
};
[[nodiscard]] std::string plan_key(const PlanQuestion& question, const topo::Topology& topology);

struct StoredPlan {
  verify::VerifiedSchedule schedule;
  std::string facts;  // whatever its maker wants to know again; one line
};

class PlanStore {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{256} << 20;

  // An empty folder: nothing is found and nothing is kept.
  explicit PlanStore(std::string folder, uint64_t most_bytes = kMostBytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  // None without an error where there is no such plan; an error says why a file cannot be used.
  [[nodiscard]] Result<std::optional<StoredPlan>> find(const std::string& key) const;
  // Then removes those that were not asked for the longest, until all fit into most_bytes; a plan
  // that takes more than a quarter is not kept.
  [[nodiscard]] Status keep(const std::string& key, const ir::Schedule& schedule,
                            const std::string& facts) const;

 private:
  [[nodiscard]] std::string path_of(const std::string& key) const;
  void make_room() const;

  std::string folder_;
  uint64_t most_bytes_;
};

}  // namespace tutti::comm
