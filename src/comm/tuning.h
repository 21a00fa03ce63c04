// What was measured on a machine: for each collective, number of ranks and range of sizes the
// algorithm that was fastest there. What no rule speaks of, the built-in rules (comm/choose.h)
// decide. All ranks of a job must decide alike: comm/tuning_agreement.h sees to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/choose.h"
#include "comm/loaded_schedule.h"
#include "tutti/collective.h"

namespace tutti::comm {

struct TuningRule {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  uint32_t num_ranks = 1;
  uint64_t min_bytes = 0;             // of the whole row
  uint64_t max_bytes = 0;             // belongs to the range
  std::optional<Choice> choice = {};  // none: the built-in rules were as good
  // How it came about. Nothing depends on these, and a table written by hand has zeros.
  uint64_t measured_bytes = 0;
  double us = 0;
  double default_us = 0;
};

// What figures are worth comparing.
struct TuningMachine {
  std::string cpu;     // its model, as the system calls it
  uint32_t cores = 0;  // that the process may use

  friend bool operator==(const TuningMachine&, const TuningMachine&) = default;
};
[[nodiscard]] TuningMachine this_machine();

// As made, it has no rules: the built-in ones hold.
struct TuningTable {
  std::string source;  // the file, if there is one
  TuningMachine machine;
  std::vector<TuningRule> rules;  // sorted; ranges of one collective and rank count are disjoint
  std::vector<LoadedSchedule> schedules = {};  // come before all rules; disjoint too
};

// Sorts the rules. If two speak of the same size, the places where they were before.
struct Overlap {
  size_t first, second;
};
[[nodiscard]] std::optional<Overlap> sort_rules(std::vector<TuningRule>& rules);

// What a rule says of such calls, if one does. `bytes` as for the built-in rules.
[[nodiscard]] std::optional<Choice> find_choice(const TuningTable& table,
                                                const Collective& collective, uint64_t bytes);
// The same, and where no rule says anything, what the built-in ones do.
[[nodiscard]] Choice choose_algorithm(const TuningTable& table, const Collective& collective,
                                      uint64_t bytes);

// Equal for tables that choose alike, whatever else they say. 0 if all choices are built in.
[[nodiscard]] uint64_t digest(const TuningTable& table);

}  // namespace tutti::comm
