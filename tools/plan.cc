// tutti plan COLLECTIVE: makes a schedule, by name or the fastest in simulation.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/file.h"
#include "base/try.h"
#include "ir/text.h"
#include "plan/algorithm.h"
#include "plan/packed.h"
#include "plan/select.h"
#include "tools/plan_answer.h"
#include "tools/plan_front.h"
#include "tools/plan_greedy.h"
#include "tools/plan_sketch.h"
#include "tools/plan_steps.h"
#include "tools/plan_trees.h"
#include "tools/terminal.h"
#include "tools/topology_argument.h"
#include "tools/verb.h"

namespace tutti::tools {
namespace {

using nlohmann::ordered_json;

struct Arguments {
  std::string collective;
  std::string algorithm = "auto";
  TopologyArgument topology;
  std::string bytes = "1M";
  uint32_t root = 0;
  uint32_t peer = 0;
  plan::Options options;
  uint64_t seed = 1;
  SketchArguments sketch;
  std::string out = "-";
  bool no_cache = false;
  bool repairs = false;
  bool front = false;
  bool json = false;
};

Result<CollectiveKind> kind_from(const std::string& text) {
  if (const auto kind = parse_collective_kind(text)) return *kind;
  std::string names;
  for (int i = 0; i < kNumCollectiveKinds; ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : ", ", to_string(static_cast<CollectiveKind>(i)));
  }
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("'{}' is not a collective; there are: {}", text, names)};
}

Result<uint32_t> ranks_without_topology(const Arguments& arguments) {
  TUTTI_ASSIGN(const std::optional<uint32_t> count, rank_count(arguments.topology));
  if (count) return *count;
  return Error{
      ErrorCode::kInvalidArgument,
      arguments.topology.ranks.empty()
          ? "how many ranks? give --ranks N, or --topo for all ranks of a machine"
          : fmt::format("--ranks {}: a list of ranks needs --topo", arguments.topology.ranks)};
}

ordered_json to_json(const plan::Options& options) {
  ordered_json json = ordered_json::object();
  if (options.chunks != 0) json["chunks"] = options.chunks;
  if (options.radix != 0) json["radix"] = options.radix;
  if (options.group_size != 0) json["group_size"] = options.group_size;
  return json;
}

// Of each algorithm the best variant: candidates come fastest first. --json lists them all.
std::string notes_on(const plan::Selection& selection) {
  const double best_ns = selection.candidates.front().ns;
  Table table({"algorithm", "steps", "simulated", "to the best"});
  std::set<const plan::Algorithm*> shown;
  for (const plan::Candidate& candidate : selection.candidates) {
    if (!shown.insert(candidate.algorithm).second) continue;
    const std::string steps = fmt::format("{}", candidate.num_steps);
    if (!candidate.skipped.empty()) {
      table.add({plan::describe(candidate), steps, "-", candidate.skipped});
    } else {
      table.add({plan::describe(candidate), steps, format_ns(candidate.ns),
                 fmt::format("{:.2f}x", best_ns > 0 ? candidate.ns / best_ns : 1.0)});
    }
  }
  return fmt::format("{}{}\n", table.text(), selection.why);
}

ordered_json to_json(const plan::Selection& selection) {
  const plan::Candidate& winner = selection.candidates.front();
  ordered_json json{{"algorithm", winner.algorithm->name},
                    {"options", to_json(winner.options)},
                    {"time_ns", winner.ns},
                    {"why", selection.why},
                    {"candidates", ordered_json::array()}};
  for (const plan::Candidate& candidate : selection.candidates) {
    ordered_json entry{{"algorithm", candidate.algorithm->name},
                       {"options", to_json(candidate.options)},
                       {"steps", candidate.num_steps}};
    if (candidate.skipped.empty()) {
      entry["time_ns"] = candidate.ns;
    } else {
      entry["skipped"] = candidate.skipped;
    }
    json["candidates"].push_back(std::move(entry));
  }
  return json;
}

// With --json the answer on standard output is the summary, so the schedule needs a file.
Status write(const Arguments& arguments, const PlanAnswer& answer) {
  if (!arguments.json) fmt::print(stderr, "{}", answer.notes);
  TUTTI_TRY(base::write_file(arguments.out, ir::to_text(answer.schedule)));
  if (arguments.json) fmt::print("{}\n", answer.summary.dump(2));
  return {};
}

// From the cache, or made and kept there.
Result<PlanAnswer> answer(const Arguments& arguments, const Collective& collective, uint64_t bytes,
                          const topo::Topology& topology, const MakeAnswer& make) {
  if (arguments.no_cache) {
    TUTTI_ASSIGN(PlanAnswer made, make());
    TUTTI_TRY(prove(made.schedule));
    return made;
  }
  comm::PlanQuestion question;
  question.collective = collective;
  question.algorithm = arguments.algorithm;
  question.chunks = arguments.options.chunks;
  question.bytes = bytes;
  return cached(std::move(question), topology, make);
}

Status prove_and_write(const Arguments& arguments, const PlanAnswer& answer) {
  TUTTI_TRY(prove(answer.schedule));
  return write(arguments, answer);
}

Status answer_for(const Arguments& arguments, const Collective& collective, uint64_t bytes,
                  const topo::Topology& topology, const MakeAnswer& make) {
  TUTTI_ASSIGN(const PlanAnswer found, answer(arguments, collective, bytes, topology, make));
  return write(arguments, found);
}

Status plan_named(const Arguments& arguments, Collective collective) {
  if (arguments.topology.name.empty()) {
    TUTTI_ASSIGN(collective.num_ranks, ranks_without_topology(arguments));
  } else {
    TUTTI_ASSIGN(const topo::Topology topology, open_topology(arguments.topology));
    collective.num_ranks = topology.num_ranks();
  }
  TUTTI_ASSIGN(const ir::Schedule schedule,
               plan::make(collective, arguments.algorithm, arguments.options));
  return prove_and_write(arguments, {schedule,
                                     "",
                                     {{"algorithm", schedule.name},
                                      {"ranks", collective.num_ranks},
                                      {"steps", ir::num_steps(schedule)}}});
}

// From the plan for the machine before --fail, which as a rule is in the cache.
Status plan_repair(const Arguments& arguments, const TreeRequest& request,
                   const topo::Topology& topology) {
  if (arguments.algorithm != "packed" || arguments.topology.fail.empty()) {
    return Error{ErrorCode::kInvalidArgument, "--repair goes with --algo packed and --fail"};
  }
  TopologyArgument whole = arguments.topology;
  whole.fail.clear();
  TUTTI_ASSIGN(const topo::Topology machine, open_topology(whole));
  TUTTI_ASSIGN(const PlanAnswer before,
               answer(arguments, request.collective, request.bytes, machine,
                      [&] { return answer_trees(request, machine); }));
  TUTTI_ASSIGN(const PlanAnswer repaired, answer_repaired(request, before, topology));
  return prove_and_write(arguments, repaired);
}

Status plan_for_topology(const Arguments& arguments, Collective collective) {
  if (arguments.topology.name.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} is made for the links one has: give --topo, a machine of "
                             "`tutti topo list` or a file",
                             arguments.algorithm)};
  }
  if (arguments.options.radix != 0 || arguments.options.group_size != 0) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("{} takes --chunks, no --radix and no --group-size", arguments.algorithm)};
  }
  TUTTI_ASSIGN(const topo::Topology topology, open_topology(arguments.topology));
  TUTTI_ASSIGN(const uint64_t bytes, parse_bytes(arguments.bytes));
  collective.num_ranks = topology.num_ranks();
  if (arguments.algorithm == "greedy") {  // quick, and its schedules are large: not kept
    TUTTI_ASSIGN(const PlanAnswer greedy,
                 answer_greedy(
                     collective, topology,
                     {.bytes = bytes, .chunks = arguments.options.chunks, .seed = arguments.seed}));
    return prove_and_write(arguments, greedy);
  }
  if (arguments.algorithm == "steps" && !arguments.repairs) {
    return answer_for(arguments, collective, bytes, topology, [&] {
      return answer_steps(collective, topology, arguments.options.chunks, bytes);
    });
  }
  const TreeRequest request{collective, arguments.algorithm, arguments.options.chunks, bytes};
  if (arguments.repairs) return plan_repair(arguments, request, topology);
  return answer_for(arguments, collective, bytes, topology,
                    [&] { return answer_trees(request, topology); });
}

Status plan_sketch(const Arguments& arguments, const Collective& collective) {
  if (arguments.topology.name.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "a sketch is drawn on a machine: give --topo, a machine of `tutti topo list` or a "
                 "file, ours or TACCL's"};
  }
  if (arguments.options.radix != 0 || arguments.options.group_size != 0) {
    return Error{ErrorCode::kInvalidArgument,
                 "sketch takes --chunks, no --radix and no --group-size"};
  }
  TUTTI_ASSIGN(const uint64_t bytes, parse_bytes(arguments.bytes));
  const SketchRequest request = {collective, arguments.topology, bytes, arguments.options.chunks,
                                 arguments.json};
  TUTTI_ASSIGN(const SketchAnswer answer, plan_from_sketch(arguments.sketch, request));
  TUTTI_TRY(prove(answer.schedule));
  TUTTI_TRY(base::write_file(arguments.out, ir::to_text(answer.schedule)));
  if (arguments.json) fmt::print("{}\n", answer.summary);
  return {};
}

Status plan_auto(const Arguments& arguments, Collective collective) {
  TopologyArgument where = arguments.topology;
  if (where.name.empty()) {
    TUTTI_ASSIGN(const uint32_t ranks, ranks_without_topology(arguments));
    where.name = fmt::format("switch:{}", ranks);
    where.ranks.clear();
    fmt::print(stderr, "No --topo given: choosing for {}, a plain switch.\n", where.name);
  }
  TUTTI_ASSIGN(const topo::Topology topology, open_topology(where));
  TUTTI_ASSIGN(const uint64_t bytes, parse_bytes(arguments.bytes));
  collective.num_ranks = topology.num_ranks();
  const auto fastest = [&](uint64_t size) {
    return answer(arguments, collective, size, topology, [&]() -> Result<PlanAnswer> {
      TUTTI_ASSIGN(plan::Selection selection, plan::select(collective, topology, size));
      std::string notes = notes_on(selection);
      ordered_json summary = to_json(selection);
      return PlanAnswer{std::move(selection.schedule), std::move(notes), std::move(summary)};
    });
  };
  if (arguments.front) {
    TUTTI_ASSIGN(const Front front, make_front(fastest));
    fmt::print("{}", arguments.json ? front.json.dump(2) + "\n" : front.text);
    return {};
  }
  TUTTI_ASSIGN(const PlanAnswer found, fastest(bytes));
  return write(arguments, found);
}

Status plan_it(const Arguments& arguments) {
  TUTTI_ASSIGN(const CollectiveKind kind, kind_from(arguments.collective));
  const bool is_for_one = arguments.algorithm != "auto" || !arguments.sketch.file.empty();
  if (arguments.front && (is_for_one || arguments.out != "-")) {
    return Error{ErrorCode::kInvalidArgument,
                 "--front looks at all algorithms and prints a table: it goes without --algo, "
                 "--sketch and -o"};
  }
  if (arguments.json && !arguments.front && arguments.out == "-") {
    return Error{ErrorCode::kInvalidArgument,
                 "--json prints a summary to stdout, so the schedule needs -o FILE"};
  }
  const Collective collective{kind, 0, arguments.root, arguments.peer};
  const bool has_sketch = !arguments.sketch.file.empty();
  if (has_sketch && arguments.algorithm != "auto" && arguments.algorithm != "sketch") {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("--sketch goes with --algo sketch, not {}", arguments.algorithm)};
  }
  if (has_sketch || arguments.algorithm == "sketch") return plan_sketch(arguments, collective);
  if (plan::needs_topology(arguments.algorithm)) return plan_for_topology(arguments, collective);
  if (arguments.algorithm != "auto") return plan_named(arguments, collective);
  if (const ordered_json given = to_json(arguments.options); !given.empty()) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("{} goes with a named --algo; auto chooses it itself", given.begin().key())};
  }
  return plan_auto(arguments, collective);
}

std::string list_algorithms() {
  std::string text = "Algorithms:\n";
  for (const plan::Algorithm& algorithm : plan::algorithms()) {
    text += fmt::format("  {:<15}{:<22}{}\n", to_string(algorithm.kind), algorithm.name,
                        algorithm.idea);
  }
  for (const plan::Algorithm& algorithm : plan::topology_algorithms()) {
    text += fmt::format("  {:<15}{:<22}{}\n", to_string(algorithm.kind), algorithm.name,
                        algorithm.idea);
  }
  for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                    CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll}) {
    text += fmt::format(
        "  {:<15}{:<22}{}\n", to_string(kind), "sketch",
        "Routes by a solver, along a sketch or without one (needs --topo, cbc or highs).");
  }
  return text +
         "\nThe schedule goes to stdout, or to -o FILE; notes go to stderr:\n"
         "  tutti plan all_reduce --ranks 7 --algo ring | tutti verify -\n"
         "  tutti plan all_reduce --topo dgx-1v --bytes 64M -o best.json\n"
         "  tutti plan broadcast --topo dgx-1v --ranks 0,1,2,4,7 --algo packed -o mine.json\n"
         "  tutti plan all_to_all --topo 'rail:dgx-h100*8' --algo greedy -o many.json\n"
         "  tutti plan all_gather --topo 'dgx-2*2' --algo sketch --bytes 1M -o sketched.json\n"
         "  tutti plan all_reduce --topo dgx-1v --algo steps --bytes 1K -o short.json\n"
         "  tutti plan all_reduce --topo dgx-1v --front\n"
         "\npacked is as fast as links allow, and takes seconds beyond 16 ranks; greedy takes any "
         "number\n"
         "of ranks, comes near the bound that it prints, and serves all_to_all too; sketch lets a "
         "solver\n"
         "choose routes, and takes the seconds that it is given; steps has the fewest hops, for "
         "the "
         "shortest\n"
         "messages of up to 16 ranks; quick weighs hops against bytes, for short ones.";
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  auto a = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("plan", "Make a schedule for a collective");
  verb->footer([] { return list_algorithms(); });
  verb->add_option("COLLECTIVE", a->collective, "all_reduce, broadcast, ...: see below")
      ->required();
  verb->add_option("--algo", a->algorithm, "An algorithm, or auto: the fastest in simulation")
      ->capture_default_str();
  verb->add_option("--ranks", a->topology.ranks,
                   "How many; with --topo also which: 0,1,4,6 or 0-3,6");
  add_topology_options(*verb, a->topology);
  verb->add_option("--bytes", a->bytes,
                   "Message size that auto, packed and greedy choose for: 8, 64K, 1G")
      ->capture_default_str();
  verb->add_option("--root", a->root, "Root of a rooted collective, sender of send_recv")
      ->capture_default_str();
  verb->add_option("--peer", a->peer, "Receiver of send_recv")->capture_default_str();
  verb->add_option("--chunks", a->options.chunks, "Pieces that flow one behind the other");
  verb->add_option("--seed", a->seed, "greedy: which of equally good choices are made")
      ->capture_default_str();
  verb->add_option("--radix", a->options.radix, "bruck: base of the digits");
  verb->add_option("--group-size", a->options.group_size, "two_level: ranks in a node");
  verb->add_option("--sketch", a->sketch.file,
                   "A sketch, ours or TACCL's, to synthesise along; --algo sketch without one "
                   "draws some itself");
  verb->add_option("--solver-seconds", a->sketch.seconds, "sketch: time for the solver, in all")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 1e6));
  verb->add_option("--solver", a->sketch.solver,
                   "sketch: cbc or highs; without it the first of these on PATH");
  verb->add_option("--sketch-out", a->sketch.out, "sketch: write the sketch that was used");
  verb->add_option("--topo-out", a->sketch.topo_out,
                   "sketch: write the topology as a file of ours (for one of TACCL's)");
  verb->add_option("-o,--out", a->out, "Where to write; - is stdout")->capture_default_str();
  verb->add_flag("--front", a->front,
                 "For sizes from 1 KiB to 1 GiB: the plans that none beats in both time and steps");
  verb->add_flag("--repair", a->repairs,
                 "With --fail and packed: mend the trees of the whole machine, in milliseconds");
  verb->add_flag(
      "--no-cache", a->no_cache,
      "Plan anew; otherwise what was planned before is taken from TUTTI_CACHE, a folder");
  verb->add_flag("--json", a->json, "Print a summary as JSON (the schedule goes to -o)");
  verb->callback([a, &action] {
    action = [a] {
      const Status status = plan_it(*a);
      return status ? static_cast<int>(kYes) : fail(status.error());
    };
  });
}

}  // namespace tutti::tools
