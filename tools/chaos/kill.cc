#include "tools/chaos/kill.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/try.h"
#include "tools/chaos/death.h"
#include "tools/chaos/leftovers.h"
#include "tools/chaos/note.h"
#include "tools/exit_code.h"
#include "tools/launch/job_directory.h"
#include "tools/terminal.h"

namespace tutti::tools::chaos {
namespace {

struct Findings {
  Death death;
  bool died = false;  // as it was meant to
  uint32_t num_named = 0;
  uint32_t num_went_on = 0;
  double slowest_ms = 0;
  std::string message;  // of the survivor that was the first to know
  std::vector<std::string> complaints;
  std::vector<std::string> left_behind;

  [[nodiscard]] bool is_ok() const { return complaints.empty() && left_behind.empty(); }
};

void read_notes(const std::string& folder, const Settings& settings, Findings& findings) {
  const std::optional<Note> victim = read_note(folder, findings.death.victim);
  uint64_t first_ns = UINT64_MAX;
  for (uint32_t rank = 0; rank < settings.num_ranks; ++rank) {
    if (rank == findings.death.victim) continue;
    const std::optional<Note> note = read_note(folder, rank);
    if (!note) {
      findings.complaints.push_back(fmt::format("rank {} did not survive", rank));
      continue;
    }
    if (!note->is_ok)
      findings.complaints.push_back(fmt::format("rank {}: {}", rank, note->message));
    findings.num_named += note->is_ok ? 1 : 0;
    findings.num_went_on += note->went_on ? 1 : 0;
    if (note->ns != 0 && note->ns < first_ns) {
      first_ns = note->ns;
      findings.message = fmt::format("rank {}: {}", rank, note->message);
    }
    if (victim && note->ns > victim->ns) {
      const double ms = static_cast<double>(note->ns - victim->ns) / 1e6;
      findings.slowest_ms = std::max(findings.slowest_ms, ms);
    }
  }
}

Result<Findings> investigate(const Settings& settings, launch::JobOptions options) {
  Findings findings;
  findings.death = death_of(settings);
  TUTTI_ASSIGN(const std::unique_ptr<Leftovers> leftovers, Leftovers::watch());
  {
    TUTTI_ASSIGN(const launch::JobDirectory notes, launch::JobDirectory::create());
    options.environment.push_back(fmt::format("{}={}", kNotesVariable, notes.path()));
    options.keep_going = true;  // survivors shall survive
    TUTTI_ASSIGN(const int code, launch::run_job(options));
    if (code != 128 + SIGKILL) {
      findings.complaints.push_back(fmt::format("the job ended with code {}, not of a kill", code));
    }
    read_notes(notes.path(), settings, findings);
  }
  findings.left_behind = leftovers->look();
  return findings;
}

std::string replay_of(const Settings& settings) {
  return fmt::format("tutti {}", fmt::join(command_of(settings), " "));
}

void print_json(const Findings& f, const Settings& s) {
  const nlohmann::json json{{"ranks", s.num_ranks},         {"seed", s.seed},
                            {"killed", f.death.victim},     {"in_round", f.death.round},
                            {"survivors", s.num_ranks - 1}, {"named_it", f.num_named},
                            {"went_on", f.num_went_on},     {"known_to_all_after_ms", f.slowest_ms},
                            {"message", f.message},         {"complaints", f.complaints},
                            {"left_behind", f.left_behind}, {"replay", replay_of(s)}};
  fmt::print("{}\n", json.dump(2));
}

void print_text(const Findings& f, const Settings& s) {
  const uint32_t survivors = s.num_ranks - 1;
  fmt::print("rank {} of {} was killed in round {}, with up to {} collectives in flight\n",
             f.death.victim, s.num_ranks, f.death.round, s.in_flight);
  fmt::print("  named by      {} of {} survivors, all within {:.1f} ms\n", f.num_named, survivors,
             f.slowest_ms);
  fmt::print("  who said      {}\n", f.message);
  fmt::print("  and then      {} of {} worked on together\n", f.num_went_on, survivors);
  fmt::print("  left behind   {}\n",
             f.left_behind.empty() ? "nothing: no process, no file, no shared memory, no descriptor"
                                   : fmt::format("{}", fmt::join(f.left_behind, "; ")));
  for (const std::string& complaint : f.complaints) {
    fmt::print("  {} {}\n", paint(stdout, Colour::kBad, "wrong:"), complaint);
  }
  fmt::print("again: {}\n", replay_of(s));
}

}  // namespace

int run_with_kill(const Settings& settings, launch::JobOptions options) {
  const Result<Findings> findings = investigate(settings, std::move(options));
  if (!findings) return fail(findings.error());
  if (settings.json) {
    print_json(*findings, settings);
  } else {
    print_text(*findings, settings);
  }
  return findings->is_ok() ? kYes : kNo;
}

}  // namespace tutti::tools::chaos
