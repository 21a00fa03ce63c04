// The answers to the page's questions, as JSON text: docs/reference/view.md describes each. The
// server and the exporter ask here, so a page from either shows the same.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/view/question.h"
#include "tools/view/shelf.h"
#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::view {

using nlohmann::ordered_json;

// The version of all answers together; a page that reads another says so.
inline constexpr int kSchemaVersion = 1;

// Thread-safe. kNotFound for a question that does not exist.
[[nodiscard]] Result<ordered_json> answer(const Shelf& shelf, const Question& question);

// What a page shows of a schedule: what it is, its steps, the verdict, and its history.
[[nodiscard]] Result<ordered_json> answer_schedule(const Shelf& shelf, const Question& question);
[[nodiscard]] Result<ordered_json> answer_simulation(const Shelf& shelf, const Question& question);
[[nodiscard]] Result<ordered_json> answer_costs(const Shelf& shelf, const Question& question);
[[nodiscard]] Result<ordered_json> answer_sweep(const Shelf& shelf, const Question& question);
[[nodiscard]] Result<ordered_json> answer_trace(const Shelf& shelf, const Question& question);
[[nodiscard]] ordered_json answer_catalogue(const Shelf& shelf);

// The schedule that the parameters name: `file`, or `collective`, `algorithm`, `ranks` and options.
[[nodiscard]] Result<ir::Schedule> schedule_of(const Shelf& shelf, const Question& question);
// The machine that they name for so many ranks: `topo` (a machine or shape, never a path), or the
// plain model of `alpha`, `rate` and `reduce`.
[[nodiscard]] Result<topo::Topology> machine_of(const Shelf& shelf, const Question& question,
                                                uint32_t num_ranks);

// What a page asks with until a person says otherwise.
struct Defaults {
  static constexpr uint64_t kBytes = 1 << 20;
  static constexpr uint64_t kRanks = 8;
  static constexpr double kAlphaNs = 1000;
  static constexpr double kRateGbps = 25;
  static constexpr double kReduceGbps = 0;
};

}  // namespace tutti::view
