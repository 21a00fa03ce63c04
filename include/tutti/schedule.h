// Schedules as values: planned, read, written, and proved. A Schedule is a claim; a
// VerifiedSchedule is a proof, and only Schedule::verify() makes one. Both are immutable, cheap to
// copy and thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tutti/collective.h"
#include "tutti/result.h"
#include "tutti/topology.h"

namespace tutti {

namespace ir {
struct Schedule;
}
namespace verify {
class VerifiedSchedule;
}

struct Choice;
class VerifiedSchedule;

// What an algorithm may be told; zero leaves it to the algorithm.
struct PlanOptions {
  uint32_t chunks = 0;      // pieces that flow one behind the other
  uint32_t radix = 0;       // bruck
  uint32_t group_size = 0;  // two_level: ranks in a node
};

class Schedule {
 public:
  // kNotFound listing the algorithms of this collective; kInvalidArgument for what cannot be.
  static Result<Schedule> plan(const Collective& collective, std::string_view algorithm,
                               const PlanOptions& options = {});
  // The fastest in simulation for a message of this size. `bytes` counts as in nccl-tests:
  // docs/reference/metrics.md.
  static Result<Choice> plan_fastest(const Collective& collective, const Topology& topology,
                                     uint64_t bytes);

  // Our JSON or MSCCL XML. The error names file, line and field.
  static Result<Schedule> read(const std::string& path);
  static Result<Schedule> parse(std::string_view text, std::string source_name);

  // Proves it: right result, no deadlock, no hazard, no stray write. kRefused names the rule, the
  // rank, the lane and the step.
  [[nodiscard]] Result<VerifiedSchedule> verify() const;

  [[nodiscard]] const std::string& algorithm() const;
  [[nodiscard]] const Collective& collective() const;
  [[nodiscard]] uint64_t num_steps() const;

  [[nodiscard]] std::string to_json() const;
  // kUnsupported naming the limit of the other system that the schedule exceeds.
  [[nodiscard]] Result<std::string> to_msccl_xml() const;
  [[nodiscard]] Result<std::string> to_mscclpp_json() const;

  // For tutti's own parts.
  explicit Schedule(std::shared_ptr<const ir::Schedule> data) : data_(std::move(data)) {}
  [[nodiscard]] const ir::Schedule& data() const { return *data_; }

 private:
  std::shared_ptr<const ir::Schedule> data_;
};

struct Choice {
  Schedule schedule;
  double time_ns = 0;  // simulated
  std::string reason;  // why this one, in a sentence
};

class VerifiedSchedule {
 public:
  [[nodiscard]] const Schedule& schedule() const { return schedule_; }

  // For tutti's own parts.
  [[nodiscard]] const verify::VerifiedSchedule& proved() const { return *proved_; }

 private:
  friend class Schedule;
  VerifiedSchedule(Schedule schedule, std::shared_ptr<const verify::VerifiedSchedule> proved)
      : schedule_(std::move(schedule)), proved_(std::move(proved)) {}

  Schedule schedule_;
  std::shared_ptr<const verify::VerifiedSchedule> proved_;
};

struct AlgorithmInfo {
  CollectiveKind kind;
  std::string_view name;
  std::string_view idea;
  std::string_view cost;
};
[[nodiscard]] std::vector<AlgorithmInfo> algorithms();

}  // namespace tutti
