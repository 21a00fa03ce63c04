// The answers to the page's questions, as JSON text: docs/reference/view.md describes each. The
// server and the exporter ask here, so a page from either shows the same.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plan/algorithm.h"
#include "plan/packing/trees.h"
#include "tools/view/question.h"
#include "tools/view/shelf.h"
#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::view {

using nlohmann::ordered_json;

// The version of all answers together; a page that reads another says so.
inline constexpr int kSchemaVersion = 3;

// Thread-safe. kNotFound for a question that does not exist.
[[nodiscard]] Result<ordered_json> answer(const Shelf& shelf, const Question& question);

// What a page shows of a schedule: what it is, its steps, the verdict, and its history.
[[nodiscard]] Result<ordered_json> answer_schedule(const Shelf& shelf, const Question& question);
[[nodiscard]] Result<ordered_json> answer_simulation(const Shelf& shelf, const Question& question);
[[nodiscard]] Result<ordered_json> answer_costs(const Shelf& shelf, const Question& question);
[[nodiscard]] Result<ordered_json> answer_sweep(const Shelf& shelf, const Question& question);
[[nodiscard]] Result<ordered_json> answer_trace(const Shelf& shelf, const Question& question);
// What becomes of calls that ranks make in different orders.
[[nodiscard]] Result<ordered_json> answer_order(const Shelf& shelf, const Question& question);
[[nodiscard]] ordered_json answer_catalogue(const Shelf& shelf);

// All that the library has: those for any machine, then those that are made for one.
[[nodiscard]] std::vector<plan::Algorithm> all_algorithms();

// The schedule that the parameters name: `file`, or `collective`, `algorithm`, `ranks` and options.
// An algorithm that is made for a topology takes `topo` and the like, and `bytes`.
struct PlannedTree {
  plan::packing::Tree tree;
  double share = 0;  // of a block, or of the message where it has no blocks
};
struct Planned {
  ir::Schedule schedule;
  std::string made_for;            // the machine, of such an algorithm
  std::vector<std::string> why;    // how good it is there, and what proves it: a sentence each
  std::vector<PlannedTree> trees;  // that it is made of, if it is
};
[[nodiscard]] Result<Planned> plan_of(const Shelf& shelf, const Question& question);
[[nodiscard]] Result<ir::Schedule> schedule_of(const Shelf& shelf, const Question& question);
// The same in a few pieces and in many, where the best number depends on the size: for those who
// try many sizes. One schedule for all other algorithms.
[[nodiscard]] Result<std::vector<ir::Schedule>> variants_of(const Shelf& shelf,
                                                            const Question& question);
// The machine that they name for so many ranks: `topo` (a machine or shape, never a path), or the
// plain model of `alpha`, `rate` and `reduce`.
[[nodiscard]] Result<topo::Topology> machine_of(const Shelf& shelf, const Question& question,
                                                uint32_t num_ranks);

inline constexpr uint64_t kMostBytes = uint64_t{1} << 40;

// What a page asks with until a person says otherwise.
struct Defaults {
  static constexpr uint64_t kBytes = 1 << 20;
  static constexpr uint64_t kRanks = 8;
  static constexpr double kAlphaNs = 1000;
  static constexpr double kRateGbps = 25;
  static constexpr double kReduceGbps = 0;
};

}  // namespace tutti::view
