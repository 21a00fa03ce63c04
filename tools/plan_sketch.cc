#include "tools/plan_sketch.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/try.h"
#include "plan/synth/sketch/automatic.h"
#include "plan/synth/sketch/taccl_files.h"
#include "tools/interrupt.h"
#include "tools/terminal.h"
#include "topo/file.h"

namespace tutti::tools {
namespace {

using nlohmann::ordered_json;
using plan::sketch::Sketch;
using plan::sketch::Synthesis;

std::string progress_text(std::string_view stage, const plan::solver::Progress& progress) {
  std::string text = fmt::format("{}: {:.1f} s", stage, progress.seconds);
  if (progress.incumbent) text += fmt::format(", incumbent {}", format_ns(*progress.incumbent));
  if (progress.bound) text += fmt::format(", bound {}", format_ns(*progress.bound));
  if (progress.gap()) text += fmt::format(", gap {:.1f} %", 100 * *progress.gap());
  return text + " (Ctrl-C takes the incumbent)";
}

struct Input {
  topo::Topology topology;
  std::optional<Sketch> sketch;
};

// A topology of TACCL's says nothing of how many nodes there are; its sketch does.
Result<Input> read_taccl(const std::string& topology, const SketchArguments& arguments) {
  if (arguments.file.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "a topology of TACCL's is one node; its sketch says how many there are: give "
                 "--sketch"};
  }
  TUTTI_ASSIGN(const std::string text, base::read_file(topology));
  TUTTI_ASSIGN(const uint32_t size, plan::sketch::taccl_ranks_per_node(text, topology));
  TUTTI_ASSIGN(const std::string sketch_text, base::read_file(arguments.file));
  Input input;
  uint32_t nodes = 1;
  if (plan::sketch::is_taccl_sketch(sketch_text)) {
    TUTTI_ASSIGN(plan::sketch::TacclSketch sketch,
                 plan::sketch::taccl_sketch(sketch_text, arguments.file, size));
    nodes = sketch.nodes;
    input.sketch = std::move(sketch.sketch);
  } else {
    TUTTI_ASSIGN(input.sketch, plan::sketch::from_json(sketch_text, arguments.file));
    for (const auto& rotation : input.sketch->symmetry) {
      nodes = std::max(nodes, rotation.group / size);
    }
  }
  TUTTI_ASSIGN(input.topology, plan::sketch::taccl_topology(text, topology, nodes));
  return input;
}

Result<Input> read_input(const SketchArguments& arguments, const SketchRequest& request) {
  const std::string& name = request.topology.name;
  if (name.ends_with(".json")) {
    const auto text = base::read_file(name);
    const bool is_taccl = text && plan::sketch::is_taccl_topology(*text);
    if (is_taccl && !(request.topology.ranks.empty() && request.topology.fail.empty())) {
      return Error{ErrorCode::kInvalidArgument,
                   "a topology of TACCL's is taken whole, without --ranks and --fail: write it as "
                   "one of ours with --topo-out, and give that"};
    }
    if (is_taccl) return read_taccl(name, arguments);
  }
  Input input;
  TUTTI_ASSIGN(input.topology, open_topology(request.topology));
  if (arguments.file.empty()) return input;
  TUTTI_ASSIGN(const std::string text, base::read_file(arguments.file));
  if (!plan::sketch::is_taccl_sketch(text)) {
    TUTTI_ASSIGN(input.sketch, plan::sketch::from_json(text, arguments.file));
    return input;
  }
  // Nodes are equally large, so the ranks there are tell how large.
  TUTTI_ASSIGN(const auto probe,
               plan::sketch::taccl_sketch(text, arguments.file, input.topology.num_ranks()));
  const uint32_t size = std::max(input.topology.num_ranks() / probe.nodes, 1u);
  TUTTI_ASSIGN(plan::sketch::TacclSketch sketch,
               plan::sketch::taccl_sketch(text, arguments.file, size));
  input.sketch = std::move(sketch.sketch);
  return input;
}

std::string manner_of(const Synthesis& plan) {
  if (plan.is_trees)
    return fmt::format("every route a pipeline of its own, pieces {}", plan.pieces);
  return fmt::format("in planned order, pieces {}, lanes a link {}", plan.pieces, plan.lanes);
}

void print_synthesis(const Synthesis& plan, uint64_t bytes) {
  const auto& routing = plan.routing;
  fmt::print(stderr, "Sketch: {}, {} chunk{} a block, {} rotation{}.\n", plan.sketch.name,
             plan.sketch.chunks, plan.sketch.chunks == 1 ? "" : "s", plan.sketch.symmetry.size(),
             plan.sketch.symmetry.size() == 1 ? "" : "s");
  fmt::print(stderr, "Routes: at least {}; {} ({} binaries, {} rows, solved in {:.1f} s).\n",
             format_ns(routing.time_ns),
             routing.is_best ? fmt::format("within {:.3g} % of the best that this sketch allows",
                                           100 * plan::sketch::SynthesisOptions().gap)
                             : fmt::format("no routes of this sketch take less than {}",
                                           format_ns(routing.bound_ns)),
             routing.num_binaries, routing.num_rows, routing.seconds);
  if (plan.is_joined && plan.contiguity.num_joined > 0) {
    fmt::print(stderr, "Joined: {} of {} neighbours are one message, {} instead of {}.\n",
               plan.contiguity.num_joined, plan.contiguity.num_pairs,
               format_ns(plan.contiguity.time_ns), format_ns(plan.contiguity.apart_ns));
  }
  if (plan.ns > 0) {
    fmt::print(stderr, "Here:   {} take {} in simulation, {}; {}.\n", format_bytes(bytes),
               format_ns(plan.ns), format_gbps(static_cast<double>(bytes) / plan.ns),
               manner_of(plan));
    fmt::print(stderr, "Bound:  no schedule takes less than {}; this one takes {:.2f}x.\n",
               format_ns(plan.bound_ns), plan.ns / plan.bound_ns);
  }
}

ordered_json json_of(const Synthesis& plan, uint64_t bytes) {
  return {{"algorithm", plan.schedule.name},
          {"ranks", plan.schedule.collective.num_ranks},
          {"steps", ir::num_steps(plan.schedule)},
          {"sketch", plan.sketch.name},
          {"bytes", bytes},
          {"time_ns", plan.ns},
          {"bound_ns", plan.bound_ns},
          {"options",
           {{"chunks", plan.sketch.chunks},
            {"pieces", plan.pieces},
            {"lanes", plan.lanes},
            {"trees", plan.is_trees}}},
          {"routing",
           {{"time_ns", plan.routing.time_ns},
            {"bound_ns", plan.routing.bound_ns},
            {"best", plan.routing.is_best},
            {"rows", plan.routing.num_rows},
            {"binaries", plan.routing.num_binaries},
            {"seconds", plan.routing.seconds}}},
          {"solver_seconds", plan.solver_seconds}};
}

}  // namespace

Result<SketchAnswer> plan_from_sketch(const SketchArguments& arguments,
                                      const SketchRequest& request) {
  TUTTI_ASSIGN(const auto solver, plan::solver::find_solver(arguments.solver));
  TUTTI_ASSIGN(const Input input, read_input(arguments, request));
  Collective collective = request.collective;
  collective.num_ranks = input.topology.num_ranks();
  plan::sketch::SynthesisOptions options;
  options.bytes = request.bytes;
  options.seconds = arguments.seconds;
  options.pieces = request.pieces;
  Synthesis plan;
  std::vector<plan::sketch::Attempt> attempts;
  {
    // The first takes the incumbent; the second ends, but not before the solver and its files are
    // gone.
    const Interrupt interrupt(2);
    options.stop = [&] { return interrupt.came(); };
    options.abandon = [&] { return interrupt.count() > 1; };
    ProgressLine line;
    options.progress = [&](std::string_view stage, const plan::solver::Progress& progress) {
      line.show(progress_text(stage, progress));
    };
    if (input.sketch) {
      TUTTI_ASSIGN(plan, plan::sketch::synthesize(collective, input.topology, *input.sketch,
                                                  *solver, options));
    } else {
      TUTTI_ASSIGN(auto found, plan::sketch::synthesize_automatically(collective, input.topology,
                                                                      *solver, options));
      plan = std::move(found.best);
      attempts = std::move(found.attempts);
    }
    if (options.abandon()) return Error{ErrorCode::kAborted, "stopped; nothing is written"};
  }
  if (!request.json) {
    for (const auto& attempt : attempts) {
      fmt::print(stderr, "Tried:  {}: {}.\n", attempt.name,
                 attempt.failed.empty() ? format_ns(attempt.ns) : attempt.failed);
    }
    print_synthesis(plan, request.bytes);
  }
  if (!arguments.out.empty()) {
    TUTTI_TRY(base::write_file(arguments.out, plan::sketch::to_json(plan.sketch)));
  }
  if (!arguments.topo_out.empty()) {
    TUTTI_TRY(base::write_file(arguments.topo_out, topo::to_json(input.topology)));
  }
  std::string summary = json_of(plan, request.bytes).dump(2);
  return SketchAnswer{std::move(plan.schedule), std::move(summary)};
}

}  // namespace tutti::tools
