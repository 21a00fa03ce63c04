// tutti status: who is in which operation of a running job, since when, and who waits for whom.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "comm/diagnosis/report.h"
#include "tools/running_jobs.h"
#include "tools/status_json.h"
#include "tools/terminal.h"
#include "tools/verb.h"

namespace tutti::tools {
namespace {

using comm::Board;
using comm::BoardEntry;
using comm::Findings;
using comm::OperationFinding;

struct Arguments {
  std::string job;
  bool json = false;
  bool events = false;
};

constexpr const char* kFooter = R"(Examples:
  tutti status                 all jobs of this user on this host
  tutti status 4711            the job of this process, a rank or its launcher
  tutti status tutti-run-aB3xyZ --events

Ranks tell what they are in about once a second. An operation that a rank has called and others have
not is shown with those that are missing; ranks that wait for each other in a ring are named.

Exit codes: 0 shown, 1 no such job runs or its ranks wait in a ring, 2 bad use.)";

void print_ranks(const Findings& findings) {
  for (uint32_t rank = 0; rank < findings.boards.size(); ++rank) {
    const auto& board = findings.boards[rank];
    const std::string process = board ? fmt::format(" (process {})", board->process) : "";
    fmt::print("  rank {}{} {}\n", rank, process, describe_rank(findings, rank));
  }
}

void print_operations(const Findings& findings) {
  if (findings.operations.empty()) return;
  fmt::print("operations under way\n");
  for (const OperationFinding& operation : findings.operations) {
    fmt::print("  {}: since {}, no progress for {}", describe(operation.facts),
               comm::describe_time(operation.issued_ns, findings.now_ns),
               comm::describe_time(operation.moved_ns, findings.now_ns));
    const auto add = [](const char* what, const std::vector<uint32_t>& ranks) {
      if (!ranks.empty()) fmt::print("{}{}", what, comm::describe_ranks(ranks));
    };
    add("; called by ", operation.inside);
    add(operation.inside.empty() ? "; behind others in a stream of "
                                 : ", behind others in a stream of ",
        operation.queued);
    add(", finished on ", operation.finished);
    add(", not called by ", operation.absent);
    add(", unknown of ", operation.unsure);
    fmt::print("\n");
  }
}

void print_prepared(const Findings& findings) {
  if (findings.prepared.empty()) return;
  fmt::print("prepared operations\n");
  for (const comm::PreparedFinding& prepared : findings.prepared) {
    fmt::print("  {}", describe(prepared.facts));
    const auto add = [](const char* what, const std::vector<uint32_t>& ranks) {
      if (!ranks.empty()) fmt::print("{}{}", what, comm::describe_ranks(ranks));
    };
    add("; prepared by ", prepared.inside);
    add(", not by ", prepared.absent);
    add(", unknown of ", prepared.unsure);
    add("; has failed on ", prepared.failed);
    fmt::print("\n");
  }
  for (const std::string& text : comm::describe_begun(findings)) fmt::print("  {}\n", text);
}

void print_events(const Findings& findings) {
  for (uint32_t rank = 0; rank < findings.boards.size(); ++rank) {
    const auto& board = findings.boards[rank];
    if (!board) continue;
    fmt::print("last operations of rank {}\n", rank);
    for (uint32_t i = board->num_recent; i > 0; --i) {
      const BoardEntry& entry = board->recent[i - 1];
      fmt::print("  {} {} {} ago, {:.1f} us after it was issued\n", describe(entry),
                 entry.outcome == engine::Outcome::kDone ? "completed" : "failed",
                 comm::describe_time(entry.ended_ns, findings.now_ns),
                 static_cast<double>(entry.ended_ns - entry.issued_ns) / 1e3);
    }
  }
}

void print_job(const JobFindings& job, const Arguments& a) {
  const Findings& findings = job.findings;
  fmt::print("{}\n", paint(stdout, Colour::kBold,
                           fmt::format("job {}: {} ranks", job.directory, findings.boards.size())));
  print_ranks(findings);
  print_operations(findings);
  print_prepared(findings);
  for (const comm::Crowd& crowd : findings.crowds) {
    fmt::print("{}\n", paint(stdout, Colour::kBad, comm::describe_crowd(crowd)));
  }
  for (const uint32_t rank : findings.silent) {
    fmt::print("{}\n",
               paint(stdout, Colour::kBad,
                     fmt::format("rank {} has given no sign of life for {}: is it stopped?", rank,
                                 comm::describe_time(findings.boards[rank]->published_ns,
                                                     findings.now_ns))));
  }
  if (!findings.ring.empty()) {
    fmt::print("{}\n", paint(stdout, Colour::kBad,
                             "ranks wait for each other in a ring: " + describe_ring(findings)));
  }
  if (!findings.stream_ring.empty()) {
    fmt::print("{}\n", paint(stdout, Colour::kBad,
                             "streams wait for each other in a ring: " +
                                 comm::describe_stream_ring(findings)));
  }
  if (a.events) print_events(findings);
}

int run(const Arguments& a) {
  std::vector<JobFindings> jobs;
  bool has_ring = false;
  for (RunningJob& job : running_jobs(a.job)) {
    jobs.push_back({job.directory, comm::find(std::move(job.boards.boards), job.boards.now_ns)});
    const Findings& findings = jobs.back().findings;
    has_ring |= !findings.ring.empty() || !findings.stream_ring.empty();
  }
  if (a.json) {
    fmt::print("{}", to_json(jobs));
  } else {
    for (const JobFindings& job : jobs) print_job(job, a);
  }
  if (jobs.empty()) {
    print_error(a.job.empty() ? "no job of this user runs here"
                              : fmt::format("no job '{}' runs here", a.job));
  }
  return jobs.empty() || has_ring ? kNo : kYes;
}

}  // namespace

void add_status(CLI::App& app, Action& action) {
  auto a = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("status", "Show what the ranks of a running job are in");
  verb->footer(kFooter);
  verb->add_option("job", a->job, "A job's directory or its name, or a process id; else all");
  verb->add_flag("--json", a->json, "For programs: see docs/reference/status.md");
  verb->add_flag("--events", a->events, "The last operations of every rank, too");
  verb->callback([a, &action] { action = [a] { return run(*a); }; });
}

}  // namespace tutti::tools
