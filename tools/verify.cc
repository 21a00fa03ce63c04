// tutti verify FILE: proves a schedule or says why it is wrong.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "comm/schedule_file.h"
#include "tools/terminal.h"
#include "tools/verb.h"
#include "verify/check.h"

namespace tutti::tools {
namespace {

using nlohmann::ordered_json;

struct Arguments {
  std::string file;
  bool json = false;
};

std::string placements_in_words(const verify::Proof& proof) {
  std::string words;
  for (ir::Placement placement : proof.placements) {
    words += fmt::format("{}{}", words.empty() ? "" : " and ",
                         placement == ir::Placement::kInPlace ? "in place" : "out of place");
  }
  return words.empty() ? "no data" : words;
}

void print_proof(const ir::Schedule& schedule, const verify::Proof& proof) {
  const Collective& c = schedule.collective;
  fmt::print("{} {} {} of {} ranks: {} steps, {} messages\n",
             paint(stdout, Colour::kGood, "proved"), to_string(c.kind), schedule.name, c.num_ranks,
             proof.num_steps, proof.num_messages);
  fmt::print("  result       every output is right, every contribution counted once ({})\n",
             placements_in_words(proof));
  fmt::print("  deadlock     none: without buffering{}; longest chain {} steps\n",
             proof.slots == 0 ? std::string() : fmt::format(", and with {} slots", proof.slots),
             proof.longest_chain);
  fmt::print("  hazards      none: every conflicting access is ordered\n");
  fmt::print("  writes       only where the collective allows\n");
}

ordered_json to_json(const ir::Schedule& schedule, const verify::Proof& proof) {
  ordered_json placements = ordered_json::array();
  for (ir::Placement placement : proof.placements) placements.push_back(ir::to_string(placement));
  return {{"proved", true},
          {"collective", to_string(schedule.collective.kind)},
          {"algorithm", schedule.name},
          {"ranks", schedule.collective.num_ranks},
          {"steps", proof.num_steps},
          {"messages", proof.num_messages},
          {"placements", placements},
          {"slots", proof.slots},
          {"longest_chain", proof.longest_chain}};
}

ordered_json to_json(const verify::Refusal& refusal) {
  ordered_json json{{"proved", false}, {"rule", verify::to_string(refusal.rule)}};
  if (refusal.rank != kNoRank) json["rank"] = refusal.rank.value;
  if (refusal.has_step) {
    json["lane"] = refusal.step.lane;
    json["step"] = refusal.step.step;
  }
  if (refusal.discipline) json["discipline"] = verify::to_string(*refusal.discipline);
  if (refusal.placement) json["placement"] = ir::to_string(*refusal.placement);
  json["message"] = refusal.message;
  return json;
}

int run(const Arguments& arguments) {
  Result<ir::Schedule> schedule = comm::read_schedule(arguments.file);
  if (!schedule) return fail(schedule.error());
  const verify::Verdict verdict = verify::check(*std::move(schedule));
  if (arguments.json) {
    const ordered_json json = verdict.proved()
                                  ? to_json(verdict.schedule().schedule(), verdict.proof())
                                  : to_json(verdict.refusal());
    fmt::print("{}\n", json.dump(2));
  } else if (verdict.proved()) {
    print_proof(verdict.schedule().schedule(), verdict.proof());
  } else {
    fmt::print("{} {}\n", paint(stdout, Colour::kBad, "refuted"), verdict.refusal().message);
  }
  return verdict.proved() ? kYes : kNo;
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("verify", "Prove a schedule, or name the step that is wrong");
  verb->footer(
      "Proves that every output is right, that nothing can deadlock (with the stated slots and\n"
      "with no buffering at all), that no two accesses race, and that nothing else is written.\n"
      "Exit code 0: proved; 1: refuted; 2: not a schedule.");
  verb->add_option("FILE", arguments->file, "A schedule (JSON or MSCCL XML); - reads stdin")
      ->required();
  verb->add_flag("--json", arguments->json, "Print the proof or the refusal as JSON");
  verb->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace tutti::tools
